// A temporary folder that is removed with its object.
#pragma once

#include <fmt/core.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace shoal {

class ScratchFolder {
 public:
  // `what` is part of its name.
  explicit ScratchFolder(std::string_view what)
      : path_(std::filesystem::temp_directory_path() / fmt::format("shoal-{}-{}", what, getpid())) {
    std::filesystem::create_directories(path_);
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }
  std::string path() const { return path_.string(); }

 private:
  const std::filesystem::path path_;
};

}  // namespace shoal
