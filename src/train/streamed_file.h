// A file that grows while a run goes on: what is added waits in memory for at most a second or 64
// KiB, so that a step costs no call to the disk and a killed run loses no more than that.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/types.h"
#include "runtime/files.h"
#include "runtime/task.h"

namespace shoal {

// Thread safety: none; at most one call at a time. `files` outlives this.
class StreamedFile {
 public:
  // Lines: also others may write them, and one that was killed may have left half of one.
  enum class Kind { Records, Lines };
  StreamedFile(Files& files, std::string path, Kind kind);

  // Throws DataError (full disk); what was waiting is lost then, and the next call goes on.
  Task<void> add(std::string_view text, Time now);
  Task<void> flush();
  Task<void> close();  // flushes, and makes it survive a crash
  const std::string& path() const { return path_; }

 private:
  Files& files_;
  std::string path_;
  Kind kind_;
  bool written_ = false;
  std::string waiting_;
  std::optional<Time> last_;  // when it was last empty
};

}  // namespace shoal
