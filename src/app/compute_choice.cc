#include "app/compute_choice.h"

#include <fmt/core.h>

#include <algorithm>
#include <thread>

namespace shoal {

ComputeChoice plain_choice(const ComputeWish& wish, int cores) {
  return {wish.blas.value_or(""), wish.channels_last.value_or(false), wish.threads.value_or(cores),
          "as asked for"};
}

int cores_of_this_machine() {
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

std::string describe(const ComputeChoice& choice) {
  return fmt::format("{} thread{}, {} OpenBLAS kernels, {}", choice.threads,
                     choice.threads == 1 ? "" : "s", choice.blas.empty() ? "default" : choice.blas,
                     choice.channels_last ? "channels-last" : "contiguous");
}

}  // namespace shoal
