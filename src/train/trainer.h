// The program of one worker of a training run: replica, strategy, checkpoints, and the run folder.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "learner/learner.h"
#include "recipe/recipe.h"
#include "replica/training_task.h"
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

struct TrainPlan : TrainingTask {
  std::string model, data;       // names given by the user, for the records
  std::string system = "shoal";  // the system whose recipe it was, before any axis was changed
  Recipe recipe;
  Bytes tune_buckets{};  // sync/sync.h
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
