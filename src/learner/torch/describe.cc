#include "learner/torch/describe.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <dlfcn.h>
#include <torch/version.h>

namespace shoal {
namespace {

// Debian's libtorch calls the selected libblas.so.3, so only the loaded library knows. Its name
// would not suffice: OpenBLAS picks kernels by CPU, and results differ between them.
std::string describe_blas() {
  using Text = const char* (*)();
  const auto config = reinterpret_cast<Text>(dlsym(RTLD_DEFAULT, "openblas_get_config"));
  if (config == nullptr) return "not OpenBLAS: matrix products may be slow";
  return config();
}

}  // namespace

TorchDescription describe_torch() {
  return {.version = TORCH_VERSION,
          .threads = at::get_num_threads(),
          .blas = describe_blas(),
          .details = at::get_parallel_info() + at::show_config()};
}

}  // namespace shoal
