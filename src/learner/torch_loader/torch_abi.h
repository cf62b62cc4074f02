// What the libtorch plugin (shoal_torch.so) and the program that loads it agree on.
//
// The plugin exports one C function, shoal_torch_api, which returns a table of functions. Its first
// field never moves, so that any loader can refuse any plugin; the rest may change with
// kTorchAbiVersion. Program and plugin come from one build, so that C++ types and exceptions may
// cross; shoal_version is compared as well, to refuse what another release left behind.
#pragma once

#include <cstdint>
#include <string>

namespace shoal {

inline constexpr std::uint32_t kTorchAbiVersion = 1;
inline constexpr const char* kTorchEntryName = "shoal_torch_api";
inline constexpr const char* kTorchPluginFile = "shoal_torch.so";

struct TorchDescription {
  std::string version;  // of the libtorch that is loaded
  int threads = 0;      // that one operation may use
  std::string blas;     // the library that multiplies matrices, and for which CPU
  std::string details;  // libtorch's own account of its parallel backend, several lines
};

struct TorchApi {
  std::uint32_t abi_version;
  const char* shoal_version;

  TorchDescription (*describe)();
};

using TorchEntry = const TorchApi* (*)();

}  // namespace shoal
