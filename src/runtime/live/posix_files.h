// Files on a real disk, below one folder.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/env.h"
#include "runtime/files.h"

namespace shoal {

// Every system call runs in env.work(Work::Io, ...), so the node's policy decides which thread
// waits for the disk. Large files move in slices, between which other tasks run. Thread safety:
// none of its own; its only state is the folder.
class PosixFiles final : public Files {
 public:
  // Creates the folder, and those above it, if they do not exist. The env outlives this object.
  PosixFiles(Env& env, std::filesystem::path root);

  Task<void> write(std::string path, ConstBuf content) override;
  // At most 1 MiB reaches a local disk in one piece, even if other processes append as well.
  Task<void> append(std::string path, ConstBuf content) override;
  Task<void> append_lines(std::string path, ConstBuf lines) override;
  Task<std::vector<std::byte>> read(std::string path) override;
  Task<void> sync(std::string path) override;
  Task<void> rename(std::string from, std::string to) override;
  Task<void> remove(std::string path) override;
  Task<std::vector<std::string>> list(std::string folder) override;

 private:
  // Throws DataError for a path that could leave the folder.
  std::filesystem::path below_root(const std::string& path) const;
  Task<void> put(std::string_view call, int flags, std::string path, ConstBuf content);

  Env& env_;
  std::filesystem::path root_;
};

}  // namespace shoal
