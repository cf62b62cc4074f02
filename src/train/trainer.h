// The program of one worker of a training run: replica, strategy, checkpoints, and what the run
// leaves behind.
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

// A usual step of a worker, as simulated before the run.
struct Prediction {
  double step_s = 0;
  double bytes_per_step = 0;  // that it sends
};

struct TrainPlan {
  // What is trained.
  std::string model, data;    // as the user named them, for the records
  std::uint64_t samples = 0;  // in the training data
  Seed seed{};
  // How.
  std::string system = "shoal";  // whose recipe it was, before any axis was changed
  Recipe recipe;
  std::uint64_t workers = 1;       // when none is missing; servers are the nodes after them
  std::uint64_t hosts = 1;         // that the workers are on
  std::uint64_t batch = 64;        // per worker, then
  std::uint64_t global_batch = 0;  // of all; 0: as many as these make
  Step steps;                      // in all
  std::uint64_t epochs = 0;        // 0: given by steps
  Duration budget{};               // of training, after which it ends; 0: none
  bool by_time = false;            // steps and epochs are only what it will never come to
  Rule rule;
  double eta = 0.1;
  Schedule schedule;
  BatchGrowth growth;  // of the batch
  Step save_every;
  Bytes tune_buckets{};  // sync/sync.h
  bool evaluate = true;
  bool audit = false;  // of parameters and gradients, into the flight recorder
  // Gets the model's state as it is at the end, before its memory goes; also of a run that was
  // stopped. Empty: nobody wants it.
  std::function<void(std::span<const float>)> take_state = {};
  // What is left behind, in the node's folder.
  std::string world = "live";
  RunFolderOptions folder;
  std::vector<ConfigEntry> config;  // resolved
  std::vector<std::pair<std::string, std::string>> notes;
  std::optional<Prediction> predicted = {};
  Bytes memory_before;                      // the most that this process had, without the model;
  std::function<Bytes()> memory_peak = {};  // and so far. May be empty.
};

// "1000 steps", "60 s".
std::string length_text(const TrainPlan& plan);
// What the journal is to know of it.
void set_length(RunJournalOptions& journal, const TrainPlan& plan);
// Steps after which a worker does the same again: until models meet, or gradients are pushed.
std::uint64_t period_of(const Recipe& recipe);

struct TrainResult {
  Summary summary;
  RunTotals totals;
  bool resumed = false;
  Step first_step;  // that was made here
};

// Trains to the end, or until the journal's options want to leave. Everything outlives the task.
Task<void> train_worker(Node& node, Learner& learner, const TrainPlan& plan,
                        const RunJournalOptions& journal, TrainResult& result);

}  // namespace shoal
