// A folder for a while.
#pragma once

#include <fmt/core.h>
#include <unistd.h>

#include <filesystem>
#include <string_view>

namespace shoal {

// Gone with this.
struct Scratch {
  explicit Scratch(std::string_view what)
      : path(std::filesystem::temp_directory_path() / fmt::format("shoal-{}-{}", what, getpid())) {
    std::filesystem::create_directories(path);
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::filesystem::path path;
};

}  // namespace shoal
