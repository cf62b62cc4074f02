#include "learner/torch/compute.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <dlfcn.h>

#include <atomic>

#include "learner/torch/allocator.h"

namespace shoal {
namespace {

std::atomic<bool> flush_denormals = true;

}  // namespace

void set_torch_compute(const TorchCompute& compute) {
  keep_tensor_memory();
  at::set_num_threads(compute.threads);
  // OpenBLAS has threads of its own, which libtorch does not know.
  using SetThreads = void (*)(int);
  if (auto* const set =
          reinterpret_cast<SetThreads>(dlsym(RTLD_DEFAULT, "openblas_set_num_threads")))
    set(compute.threads);
  at::globalContext().setDeterministicAlgorithms(compute.deterministic, false);
  flush_denormals = compute.flush_denormals;
}

void prepare_compute_thread() {
  thread_local int is_set = -1;
  const int wanted = flush_denormals ? 1 : 0;
  if (is_set == wanted) return;
  at::globalContext().setFlushDenormal(wanted != 0);
  is_set = wanted;
}

}  // namespace shoal
