// The program of one worker of a training run: replica, strategy, checkpoints, and the run folder.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "learner/learner.h"
#include "optim/batch_growth.h"
#include "optim/rule.h"
#include "optim/schedule.h"
#include "recipe/recipe.h"
#include "runtime/node.h"
#include "train/config_file.h"
#include "train/run_folder.h"
#include "train/run_journal.h"
#include "train/summary.h"

namespace shoal {

// A typical step of a worker, as simulated before the run.
struct Prediction {
  double step_s = 0;
  double bytes_per_step = 0;  // sent by the worker
};

struct TrainPlan {
  // The task.
  std::string model, data;    // names given by the user, for the records
  std::uint64_t samples = 0;  // in the training data
  Seed seed{};
  // The method.
  std::string system = "shoal";  // the system whose recipe it was, before any axis was changed
  Recipe recipe;
  std::uint64_t workers = 1;       // if none is missing; servers are the nodes after them
  std::uint64_t hosts = 1;         // of the workers
  std::uint64_t batch = 64;        // per worker
  std::uint64_t global_batch = 0;  // of all workers; 0: derived from `batch`
  Step steps;                      // in total
  std::uint64_t epochs = 0;        // 0: the number of steps is given
  Duration budget{};               // training time after which the run ends; 0: none
  bool by_time = false;            // the budget decides; steps and epochs are out of reach
  Rule rule;
  double eta = 0.1;
  Schedule schedule;
  BatchGrowth growth;  // of the batch
  Step save_every;
  Bytes tune_buckets{};  // sync/sync.h
  bool evaluate = true;
  bool audit = false;  // records hashes of parameters and gradients in the flight recorder
  // Gets the final state of the model before its memory is released, also after a stop. May be
  // empty.
  std::function<void(std::span<const float>)> take_state = {};
  // Files in the node's folder.
  std::string world = "live";
  RunFolderOptions folder;
  std::vector<ConfigEntry> config;  // resolved
  std::vector<std::pair<std::string, std::string>> notes;
  std::optional<Prediction> predicted = {};
  Bytes memory_before;                      // peak memory of this process without the model,
  std::function<Bytes()> memory_peak = {};  // and so far; may be empty
};

// "1000 steps", "60 s".
std::string length_text(const TrainPlan& plan);
// Copies the length of the plan to the journal's options.
void set_length(RunJournalOptions& journal, const TrainPlan& plan);
// Steps after which a worker's activity repeats: until models are exchanged, or gradients pushed.
std::uint64_t period_of(const Recipe& recipe);

struct TrainResult {
  Summary summary;
  RunTotals totals;
  bool resumed = false;
  Step first_step;  // the first step made here
};

// Trains to the end, or until the journal's options ask to leave. All arguments outlive the task.
Task<void> train_worker(Node& node, Learner& learner, const TrainPlan& plan,
                        const RunJournalOptions& journal, TrainResult& result);

}  // namespace shoal
