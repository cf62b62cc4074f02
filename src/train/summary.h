// summary.json: the settings and the result of a run, for people, scripts and `shoal compare`.
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

// The ends of samples, over all finished epochs.
struct SummaryLedger {
  std::uint64_t consumed = 0;
  std::uint64_t dropped = 0;
  std::uint64_t lost = 0;
  std::uint64_t partial = 0;
  std::uint64_t repeated = 0;
  std::uint64_t missing = 0;
};

// An evaluation, and the cost of the run up to it.
struct EvaluationRow {
  std::uint64_t epoch = 0;  // number of finished epochs
  Step step;
  double clock_s = 0;  // its end, in the time of metrics.jsonl
  double time_s = 0;   // training time, without evaluations
  double eval_s = 0;
  double train_loss = kUnknown;  // since the last one, of the worker that wrote this
  double train_accuracy = kUnknown;
  double test_loss = kUnknown;
  double test_accuracy = kUnknown;
  double bytes_sent = 0;        // likewise
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
  // Quantities that were not measured are null in the file.
  double train_loss = kUnknown;
  double train_accuracy = kUnknown;
  double test_loss = kUnknown;
  double test_accuracy = kUnknown;
  double begin_s = 0;  // start of training, in the time of metrics.jsonl
  double wall_s = 0;   // virtual in simulation; without evaluations
  // The mean over an ensemble's members; test_loss and test_accuracy are those of the ensemble.
  std::optional<double> members_loss, members_accuracy;
  double eval_s = 0;
  double samples_per_s = kUnknown;
  // Of the worker that wrote this, since its last start, like samples_per_s and bytes_sent.
  double compute_s = 0;
  double overlap_s = 0;  // part of compute_s, beside communication
  double wait_s = 0;
  double update_s = 0;
  double bytes_sent_per_worker = 0;
  // A typical step of a worker and the bytes sent in it: predicted before the run, if it was, and
  // measured.
  std::optional<double> predicted_step_s, predicted_bytes_per_step;
  double measured_step_s = kUnknown;
  double measured_bytes_per_step = kUnknown;
  std::vector<EvaluationRow> evaluations;  // also since its last start
  Staleness staleness;                     // of pushes to servers
  std::vector<double> consensus;           // consensus error after each epoch
  // Peak memory of this process in bytes: before the model was made, and at the end; 0: unknown.
  std::uint64_t memory_before = 0;
  std::uint64_t memory_peak = 0;
  std::uint64_t lost_nodes = 0;  // number of losses
  SummaryLedger ledger;
  std::string params_sha256;
  std::optional<std::uint64_t> trace_hash;                 // in simulation
  std::vector<std::pair<std::string, std::string>> notes;  // version, commit, machine, ..
};

std::string to_json(const Summary& summary);
// Parses what reports need: notes, hash and ledger are not read. Keys that older runs lack keep
// their defaults. Throws DataError.
Summary parse_summary(std::string_view json, const std::string& file);

}  // namespace shoal
