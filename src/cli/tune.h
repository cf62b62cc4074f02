// Chooses by short probes what libtorch leaves to chance: OpenBLAS's kernels, the memory format of
// convolutions, the number of threads. The choice is printed, and cached for this machine and
// model.
//
// OpenBLAS chooses its kernels while it is loaded, so each choice is probed in a process of its
// own.
#pragma once

#include <filesystem>
#include <string>

#include "app/compute_choice.h"
#include "learner/batch.h"

namespace shoal {

struct ProbeTask {
  std::string model;
  SampleShape shape;
  std::uint64_t batch = 64;
};

// `cores`: the cores that this worker may use. `cache`: a file for choices; empty: none.
ComputeChoice choose_compute(const ComputeWish& wish, const ProbeTask& task, int cores,
                             const std::filesystem::path& executable,
                             const std::filesystem::path& cache);

}  // namespace shoal
