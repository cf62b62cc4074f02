// Loads the libtorch plugin. All code outside learner/torch reaches libtorch through this class.
//
// libtorch reads its environment (OPENBLAS_CORETYPE, OMP_NUM_THREADS) while it is loaded: set these
// variables before load().
#pragma once

#include <filesystem>
#include <vector>

#include "learner/torch_loader/torch_abi.h"

namespace shoal {

// The folders to search: that of the program, then ../lib/shoal.
std::vector<std::filesystem::path> plugin_directories(const std::filesystem::path& executable);

class TorchPlugin {
 public:
  // Throws ConfigError, which says what to install, if no folder has a suitable plugin. A loaded
  // plugin stays for the life of the process, because libtorch cannot be unloaded.
  static TorchPlugin load(const std::vector<std::filesystem::path>& directories);

  TorchDescription describe() const { return api_->describe(); }
  void set_compute(const TorchCompute& compute) const { api_->set_compute(compute); }
  std::unique_ptr<Learner> make_learner(const TorchTask& task) const {
    return api_->make_learner(task);
  }
  const std::filesystem::path& file() const { return file_; }

 private:
  TorchPlugin(std::filesystem::path file, const TorchApi* api);

  std::filesystem::path file_;
  const TorchApi* api_;
};

}  // namespace shoal
