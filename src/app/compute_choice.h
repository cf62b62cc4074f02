// How libtorch shall compute: what the user fixed, and what was chosen.
#pragma once

#include <optional>
#include <string>

namespace shoal {

// Empty fields are chosen.
struct ComputeWish {
  bool probe = true;                // false: what is not fixed stays as libtorch has it
  bool only_kept = false;           // takes what was probed before, and probes nothing
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

// Without probes. `cores`: that this worker may use.
ComputeChoice plain_choice(const ComputeWish& wish, int cores);
int cores_of_this_machine();

// How a choice reads: "2 threads, ZEN OpenBLAS kernels, channels-last".
std::string describe(const ComputeChoice& choice);

}  // namespace shoal
