// Files: what must outlive the process. One of the four interfaces of the seam.
//
// Nothing is promised to survive a crash before it was synced: the content of a file by sync(path),
// its name (creation, rename, removal) by sync of its folder. The simulator's implementation
// forgets what was not. Paths are relative to the job's folder, with '/' between names.
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

  // Creates the file, and folders above it, or replaces its content. Throws DataError with the
  // path and the reason (full disk, no permission) for anything that cannot be done, as all do.
  virtual Task<void> write(std::string path, ConstBuf content) = 0;
  // Adds to the end of a file, which is created as by write where it is absent. Of what was not
  // synced, a crash may leave any beginning; what was synced before stays in front of it.
  virtual Task<void> append(std::string path, ConstBuf content) = 0;
  // As append, of whole lines, by several processes at once: each begins on a line of its own,
  // also behind half a one that a killed process has left.
  virtual Task<void> append_lines(std::string path, ConstBuf lines) = 0;
  virtual Task<std::vector<std::byte>> read(std::string path) = 0;
  virtual Task<void> sync(std::string path) = 0;  // of a file or of a folder
  // Atomic: readers see the old or the new, also for folders; replaces an existing file.
  virtual Task<void> rename(std::string from, std::string to) = 0;
  // A file, or a folder with all in it; what is not there is removed already.
  virtual Task<void> remove(std::string path) = 0;
  virtual Task<std::vector<std::string>> list(
      std::string folder) = 0;  // names, sorted; {} if absent
};

}  // namespace shoal
