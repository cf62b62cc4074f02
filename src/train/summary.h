// summary.json: what a run was and how it ended, for people, scripts and `shoal compare`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/types.h"
#include "ps/consistency.h"
#include "replica/staleness.h"
#include "train/metrics.h"

namespace shoal {

// How samples ended, over all finished epochs.
struct SummaryLedger {
  std::uint64_t consumed = 0;
  std::uint64_t dropped = 0;
  std::uint64_t lost = 0;
  std::uint64_t partial = 0;
  std::uint64_t repeated = 0;
  std::uint64_t missing = 0;
};

// An evaluation, and what the run had cost by then.
struct EvaluationRow {
  std::uint64_t epoch = 0;  // as many are finished
  Step step;
  double clock_s = 0;  // when it ended, as metrics.jsonl counts
  double time_s = 0;   // of training, without evaluations
  double eval_s = 0;
  double train_loss = kUnknown;  // since the last one, of the worker that wrote this
  double train_accuracy = kUnknown;
  double test_loss = kUnknown;
  double test_accuracy = kUnknown;
  double bytes_sent = 0;        // as well
  double consensus = kUnknown;  // error of the workers' models
};

// Large class: each field is one entry of summary.json, and nothing is computed in it.
struct Summary {
  std::string system;
  std::string world;                                        // "live" or "sim"
  std::vector<std::pair<std::string, std::string>> recipe;  // axis and choice
  std::string model;
  std::string data;
  Seed seed;
  std::uint64_t parameters = 0;
  std::uint64_t workers = 0;
  std::uint64_t servers = 0;
  std::uint64_t epochs = 0;
  std::uint64_t samples = 0;  // in the training data
  std::uint64_t batch = 0;    // per worker
  Step steps;
  // What was not measured is null in the file.
  double train_loss = kUnknown;
  double train_accuracy = kUnknown;
  double test_loss = kUnknown;
  double test_accuracy = kUnknown;
  double begin_s = 0;  // of training, as metrics.jsonl counts
  double wall_s = 0;   // virtual in simulation; without evaluation
  // Of an ensemble's members, their mean; test_loss and test_accuracy are those of all together.
  std::optional<double> members_loss, members_accuracy;
  double eval_s = 0;
  double samples_per_s = kUnknown;
  // Of the worker that wrote this, since it was last started, as are samples_per_s and bytes_sent.
  double compute_s = 0;
  double overlap_s = 0;  // of compute_s, with gradients under way
  double wait_s = 0;
  double update_s = 0;
  double bytes_sent_per_worker = 0;
  // A usual step of a worker, and what it sends in one: as simulated before the run, if it was, and
  // as it came.
  std::optional<double> predicted_step_s, predicted_bytes_per_step;
  double measured_step_s = kUnknown;
  double measured_bytes_per_step = kUnknown;
  std::vector<EvaluationRow> evaluations;  // also since it was last started
  Staleness staleness;                     // of pushes to servers
  std::vector<double> consensus;           // error of the workers' models, after each epoch
  // Bytes, the most that this process had: before the model was made, and at the end; 0: unknown.
  std::uint64_t memory_before = 0;
  std::uint64_t memory_peak = 0;
  std::uint64_t lost_nodes = 0;  // how many
  SummaryLedger ledger;
  std::string params_sha256;
  std::optional<std::uint64_t> trace_hash;                 // in simulation
  std::vector<std::pair<std::string, std::string>> notes;  // version, commit, machine, ..
};

std::string to_json(const Summary& summary);
// What a finished run can be asked: notes, hash and ledger are not read. What older runs did not
// write is left as it is. Throws DataError.
Summary parse_summary(std::string_view json, const std::string& file);

}  // namespace shoal
