// The flags of `shoal train`, and of programs that use include/shoal/train.h, and the plan that
// they make.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/command.h"
#include "app/compute_choice.h"
#include "data/dataset.h"
#include "recipe/axes.h"
#include "train/trainer.h"

namespace shoal {

// An axis of the recipe that a flag sets; empty: the system's own.
struct AxisFlag {
  std::string value;
  bool on = false, off = false;  // of one that is a switch: --compress, --no-compress
};

// The number of epochs of a run that only a time ends.
inline constexpr std::uint64_t kEndlessEpochs = 1'000'000;

// Texts that are empty or "auto" are chosen by what else is given.

struct DataFlags {
  std::string data = "fashion-mnist";
  bool augment = false;
  std::uint64_t length = 64;
  double test_fraction = 0.1;
  std::string partition = "global";
};

struct TaskFlags {
  std::string model = "lenet";
  std::uint64_t epochs = 5;
  std::uint64_t steps = 0;         // 0: by epochs
  std::string budget;              // empty: none
  std::uint64_t batch = 64;        // per worker
  std::uint64_t global_batch = 0;  // of all; 0: what the workers' batches make
  std::uint64_t seed = 1;
};

struct OptimizerFlags {
  std::string optimizer = "auto";
  std::string eta = "auto";
  std::string schedule = "cosine";
  std::string momentum, weight_decay;  // empty: the optimizer's own
  std::string beta1, beta2, epsilon;
  double clip_norm = 0;
  std::string batch_growth;  // empty: none
  bool weight_norm = false;
};

struct RecipeFlags {
  std::string like = "shoal";
  std::vector<AxisFlag> axes = std::vector<AxisFlag>(shoal::axes().size());  // in their order
  std::uint64_t bucket_bytes = 0;                                            // 0: the system's own
};

struct ClusterFlags {
  std::string workers = "auto";  // "4", "2:8"
  std::uint64_t restarts = 1000;
  std::string hosts, store, listen;
};

struct ComputeFlags {
  std::string threads = "auto";
  std::string blas = "auto";
  std::string memory_format = "auto";
  std::string denormals = "flush";
  std::string waits = "auto";
  std::string cores = "auto";
  bool reproducible = false;
  bool no_tune = false;
};

struct RunFlags {
  std::string out;
  std::string resume;
  std::string config;
  std::uint64_t save_every = 0;  // steps; 0: every epoch
  bool no_predict = false;
  bool quiet = false;
};

// A group a base, so that each is named as its flag.
struct TrainFlags : DataFlags,
                    TaskFlags,
                    OptimizerFlags,
                    RecipeFlags,
                    ClusterFlags,
                    ComputeFlags,
                    RunFlags {};

std::vector<Option> train_options(TrainFlags& flags);
// The system's, with the axes that flags set. Throws ConfigError.
Recipe recipe_of(const TrainFlags& flags);
Bytes bucket_bytes_of(const RecipeFlags& flags);
// The optimizer with its constants; "auto": the system's, else by the model. Throws ConfigError.
Rule rule_of(const TrainFlags& flags);
double eta_of(const TrainFlags& flags, const Rule& rule);
Normalization normalization_of(const TrainFlags& flags);
// Whether nothing but a time ends the run.
bool ends_by_time(const TrainFlags& flags);
// Whatever can be found wrong before anything is opened. Throws ConfigError.
void check_flags(const TrainFlags& flags);
ComputeWish wish_of(const ComputeFlags& flags);
// `hosts`: that the workers are on.
TrainPlan plan_of(const TrainFlags& flags, const Dataset& dataset, std::uint64_t workers,
                  std::uint64_t hosts = 1);

}  // namespace shoal
