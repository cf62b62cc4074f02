// A plugin of another release.
#include "fake_plugin.h"

extern "C" const shoal::TorchApi* shoal_torch_api() {
  static constexpr shoal::TorchApi kApi{
      shoal::kTorchAbiVersion, "0.0.1-old", shoal::describe_fake, nullptr, nullptr,
  };
  return &kApi;
}
