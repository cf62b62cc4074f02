// A file that grows during a run. Additions wait in memory for at most a second or 64 KiB, so that
// a step makes no call to the disk and a killed run loses no more than that.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/types.h"
#include "runtime/files.h"
#include "runtime/task.h"

namespace shoal {

// Thread safety: none; at most one call at a time. `files` outlives this object.
class StreamedFile {
 public:
  // Lines: other processes write to the file as well, and a killed one may have left half a line.
  enum class Kind { Records, Lines };
  StreamedFile(Files& files, std::string path, Kind kind);

  // Throws DataError (full disk); the pending data is lost then, and later calls continue.
  Task<void> add(std::string_view text, Time now);
  Task<void> flush();
  Task<void> close();  // flushes and syncs
  const std::string& path() const { return path_; }

 private:
  Files& files_;
  std::string path_;
  Kind kind_;
  bool written_ = false;
  std::string waiting_;
  std::optional<Time> last_;  // the last time when nothing was pending
};

}  // namespace shoal
