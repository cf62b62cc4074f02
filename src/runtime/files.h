// Files: storage that outlives the process. One of the four interfaces of the seam.
//
// Only synced data survives a crash: the content of a file by sync(path), its name (creation,
// rename, removal) by sync of its folder. The simulator's implementation forgets the rest. Paths
// are relative to the job's folder, with '/' between names.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/buffer.h"
#include "runtime/task.h"

namespace shoal {

class Files {
 public:
  virtual ~Files() = default;

  // Creates the file, and folders above it, or replaces its content. Like all methods, throws
  // DataError with the path and the reason (full disk, no permission) on failure.
  virtual Task<void> write(std::string path, ConstBuf content) = 0;
  // Appends to a file, which is created if absent, as by write(). After a crash any prefix of the
  // unsynced bytes may remain, behind the synced ones.
  virtual Task<void> append(std::string path, ConstBuf content) = 0;
  // Like append, for whole lines by several processes at once: each call begins on a new line, even
  // after half a line left by a killed process.
  virtual Task<void> append_lines(std::string path, ConstBuf lines) = 0;
  virtual Task<std::vector<std::byte>> read(std::string path) = 0;
  virtual Task<void> sync(std::string path) = 0;  // a file or a folder
  // Atomic, also for folders: readers see the old or the new content. Replaces an existing file.
  virtual Task<void> rename(std::string from, std::string to) = 0;
  // Removes a file, or a folder with its content; a missing path counts as removed.
  virtual Task<void> remove(std::string path) = 0;
  virtual Task<std::vector<std::string>> list(
      std::string folder) = 0;  // names, sorted; {} if absent
};

}  // namespace shoal
