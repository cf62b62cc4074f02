// A plugin of a later release, with another table. The version is null: a loader that reads it
// without knowing the table's layout will crash.
#include "fake_plugin.h"

extern "C" const shoal::TorchApi* shoal_torch_api() {
  static constexpr shoal::TorchApi kApi{
      shoal::kTorchAbiVersion + 41, nullptr, nullptr, nullptr, nullptr,
  };
  return &kApi;
}
