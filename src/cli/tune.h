// What libtorch leaves to chance, chosen by short probes: OpenBLAS's kernels, the memory format of
// convolutions, the number of threads. The choice is printed, and kept for this machine and model.
//
// OpenBLAS chooses its kernels while it is loaded, so that each choice is probed in a process of
// its own.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "learner/batch.h"
#include "learner/torch_loader/torch_abi.h"

namespace shoal {

// What the user fixed; what is empty is chosen.
struct ComputeWish {
  bool probe = true;                // false: what is not fixed stays as libtorch has it
  std::optional<std::string> blas;  // "": OpenBLAS's own choice
  std::optional<bool> channels_last;
  std::optional<int> threads;
  bool flush_denormals = true;
  bool deterministic = false;
};

struct ComputeChoice {
  std::string blas;
  bool channels_last = false;
  int threads = 1;
  std::string reason;  // "probed: 21.3 ms a step; default 24.0" or "kept from ..."
};

struct ProbeTask {
  std::string model;
  SampleShape shape;
  std::uint64_t batch = 64;
};

// `cores`: that this worker may use. `cache`: a file where choices are kept; empty: nowhere.
ComputeChoice choose_compute(const ComputeWish& wish, const ProbeTask& task, int cores,
                             const std::filesystem::path& executable,
                             const std::filesystem::path& cache);

// How a choice reads: "ZEN kernels, channels-last, 2 threads".
std::string describe(const ComputeChoice& choice);

}  // namespace shoal
