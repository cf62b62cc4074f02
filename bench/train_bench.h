// Benchmark of training: samples a second and memory, beside PyTorch's own loop on the same network
// and data (peers/pytorch_train.py). With several workers of one host: beside PyTorch's
// DistributedDataParallel, and as part of what as many workers do that never talk, or that only
// meet once a step.
#pragma once

#include <string>
#include <vector>

#include "bench/row.h"

namespace shoal {

struct TrainBenchOptions {
  std::string shoal;                        // the path of this program
  std::string peer = "pytorch";             // or none
  std::string python = "/usr/bin/python3";  // that has torch
  std::vector<std::string> models;          // empty: all
  std::vector<int> threads = {1};           // of ours and theirs, each worker
  int workers = 1;
  int rounds = 9;    // ours and theirs in turn; medians count
  double scale = 1;  // length of a round
  bool tune = true;  // ours probes what suits the machine, as it does for users
  // After so many seconds no other round of a model is begun; but one is. 0: all are.
  double within_s = 0;
};

// Throws ConfigError for a model or peer that is not known here.
std::vector<BenchRow> bench_train(const TrainBenchOptions& options);

}  // namespace shoal
