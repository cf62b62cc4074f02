// Benchmark of training: samples per second and memory, compared with PyTorch's own loop on the
// same network and data (peers/pytorch_train.py). Several workers of one host are compared with
// PyTorch's DistributedDataParallel, with independent workers, and with workers that have only a
// barrier per step.
#pragma once

#include <string>
#include <vector>

#include "bench/row.h"

namespace shoal {

struct TrainBenchOptions {
  std::string shoal;                        // the path of this program
  std::string peer = "pytorch";             // or none
  std::string python = "/usr/bin/python3";  // one with torch
  std::vector<std::string> models;          // empty: all
  std::vector<int> threads = {1};           // per worker, ours and the peer's
  int workers = 1;
  int rounds = 9;    // ours and the peer's in turn; the result is the median
  double scale = 1;  // length of a round
  bool tune = true;  // probe the machine first, as `shoal train` does
  // No further round of a model begins after this many seconds; 0: no limit.
  double within_s = 0;
};

// Throws ConfigError for an unknown model or peer.
std::vector<BenchRow> bench_train(const TrainBenchOptions& options);

}  // namespace shoal
