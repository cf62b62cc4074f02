// The plugin's one exported function. See learner/torch_loader/torch_abi.h.
#include "learner/torch/describe.h"
#include "learner/torch_loader/torch_abi.h"

namespace shoal {
namespace {

constexpr TorchApi kApi{
    .abi_version = kTorchAbiVersion,
    .shoal_version = SHOAL_VERSION,
    .describe = describe_torch,
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const TorchApi* shoal_torch_api() {
  return &kApi;
}

}  // namespace shoal
