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
  // Lines: an earlier life may have left half a line there, which must not run into our first.
  enum class Kind { Records, Lines };
  StreamedFile(Files& files, std::string path, Kind kind);

  // Throws DataError (full disk); what was waiting is lost then, and the next call goes on.
  Task<void> add(std::string_view text, Time now);
  Task<void> flush();
  Task<void> close();  // flushes, and makes it survive a crash
  const std::string& path() const { return path_; }

 private:
  Task<bool> ends_inside_a_line();

  Files& files_;
  std::string path_;
  Kind kind_;
  bool tail_is_known_ = false;  // the file ends where a record does
  std::string waiting_;
  std::optional<Time> last_;  // when it was last empty
};

}  // namespace shoal
