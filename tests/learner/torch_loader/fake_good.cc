// A plugin that fits.
#include "fake_plugin.h"

extern "C" const shoal::TorchApi* shoal_torch_api() {
  static constexpr shoal::TorchApi kApi{shoal::kTorchAbiVersion, SHOAL_VERSION,
                                        shoal::describe_fake, nullptr, nullptr};
  return &kApi;
}
