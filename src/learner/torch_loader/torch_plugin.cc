#include "learner/torch_loader/torch_plugin.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <string>
#include <utility>

#include "base/error.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

fs::path find_plugin(const std::vector<fs::path>& directories) {
  std::string searched;
  for (const auto& directory : directories) {
    auto file = directory / kTorchPluginFile;
    std::error_code ignored;  // an unreadable directory has no plugin for us
    if (fs::is_regular_file(file, ignored)) return file;
    searched += (searched.empty() ? "" : " and ") + file.string();
  }
  throw ConfigError(
      fmt::format("this shoal has no libtorch plugin; looked for {}\n"
                  "Hint: apt-get install libtorch-dev, then build again (./shoalw build)",
                  searched));
}

const TorchApi* open_plugin(const fs::path& file) {
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    throw ConfigError(
        fmt::format("cannot load the libtorch plugin {}: {}\n"
                    "Hint: is libtorch installed as it was at build time? apt-get install "
                    "libtorch-dev, then ./shoalw build",
                    file.string(), dlerror()));
  }
  void* symbol = dlsym(handle, kTorchEntryName);
  if (symbol == nullptr) {
    throw ConfigError(
        fmt::format("{} is not a plugin of shoal: it has no function {}\n"
                    "Hint: remove it and build again (./shoalw build)",
                    file.string(), kTorchEntryName));
  }
  return reinterpret_cast<TorchEntry>(symbol)();
}

void require_same_build(const fs::path& file, const TorchApi& api) {
  const std::string ours = SHOAL_VERSION;
  // The version string of a table with another layout must not be read.
  const bool readable = api.abi_version == kTorchAbiVersion;
  if (readable && ours == api.shoal_version) return;
  throw ConfigError(fmt::format(
      "{} does not belong to this shoal: it has interface {} of shoal {}, expected {} of {}\n"
      "Hint: build program and plugin together (./shoalw build)",
      file.string(), api.abi_version, readable ? api.shoal_version : "another version",
      kTorchAbiVersion, ours));
}

}  // namespace

std::vector<fs::path> plugin_directories(const fs::path& executable) {
  const auto beside = executable.parent_path();
  return {beside, (beside / ".." / "lib" / "shoal").lexically_normal()};
}

TorchPlugin::TorchPlugin(fs::path file, const TorchApi* api) : file_(std::move(file)), api_(api) {}

TorchPlugin TorchPlugin::load(const std::vector<fs::path>& directories) {
  auto file = find_plugin(directories);
  const auto* api = open_plugin(file);
  require_same_build(file, *api);
  return {std::move(file), api};
}

}  // namespace shoal
