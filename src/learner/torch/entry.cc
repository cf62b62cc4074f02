// The plugin's one exported function. See learner/torch_loader/torch_abi.h.
#include "learner/torch/compute.h"
#include "learner/torch/describe.h"
#include "learner/torch/make.h"
#include "learner/torch_loader/torch_abi.h"

namespace shoal {
namespace {

constexpr TorchApi kApi{
    .abi_version = kTorchAbiVersion,
    .shoal_version = SHOAL_VERSION,
    .describe = describe_torch,
    .set_compute = set_torch_compute,
    .make_learner = make_torch_learner,
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const TorchApi* shoal_torch_api() {
  return &kApi;
}

}  // namespace shoal
