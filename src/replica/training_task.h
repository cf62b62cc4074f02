// TrainingTask: the settings of a training job that do not depend on how it is distributed.
#pragma once

#include <cstdint>

#include "base/types.h"
#include "optim/batch_growth.h"
#include "optim/rule.h"
#include "optim/schedule.h"

namespace shoal {

struct TrainingTask {
  std::uint64_t samples = 0;  // in the training data
  Seed seed{};
  std::uint64_t workers = 1;       // if none is missing; servers are the nodes after them
  std::uint64_t hosts = 1;         // of the workers
  std::uint64_t batch = 64;        // per worker
  std::uint64_t global_batch = 0;  // of all workers; 0: derived from `batch`
  Step steps{};                    // in total
  std::uint64_t epochs = 0;        // 0: the number of steps is given
  Duration budget{};               // training time after which the run ends; 0: none
  bool by_time = false;            // the budget decides; steps and epochs are out of reach
  Rule rule{};
  double eta = 0.1;  // of the schedule, at its height
  Schedule schedule{};
  BatchGrowth growth{};  // of the batch
  Step save_every{};
  bool evaluate = true;
  bool audit = false;  // records hashes of parameters and gradients in the flight recorder

  // The samples of a step of all workers.
  std::uint64_t all_batches() const { return global_batch != 0 ? global_batch : batch * workers; }
};

// The length of a run for a kind of training that counts epochs.
struct EpochCount {
  std::uint64_t epochs = 1;
  std::uint64_t last_epoch = 0;  // samples of the last one; 0: all
};
// With `each` samples in a step of all workers.
EpochCount epochs_of(const TrainingTask& task, std::uint64_t each);
// The same if no step has samples of two epochs.
EpochCount epochs_in_steps(const TrainingTask& task, std::uint64_t each);

}  // namespace shoal
