// What processes print, on its way to the launcher's own stdout and stderr.
//
// A LineSplitter makes whole lines of what one process writes to one pipe; Output writes them, on a
// thread of its own, because whoever reads our stdout may be slow, and the loop must go on.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "launch/descriptor.h"
#include "runtime/live/loop.h"

namespace shoal {

// Thread safety: none. Invariant: what was fed comes out unchanged but for the prefix of each line
// and a newline inside of lines longer than the limit, which would take all memory otherwise.
class LineSplitter {
 public:
  static constexpr std::size_t kLineMax = std::size_t{16} << 20U;

  explicit LineSplitter(std::string prefix, std::size_t line_max = kLineMax)
      : prefix_(std::move(prefix)), line_max_(line_max) {}
  std::string feed(std::string_view bytes);  // the lines that are complete now
  std::string finish();                      // the last line, if it has no newline

 private:
  std::string prefix_;
  std::size_t line_max_;
  std::string line_;  // the begun one
};

enum class Stream : std::uint8_t { Out, Err };

// Thread safety: all methods belong to the loop's thread. Invariants:
// 1. What was written comes out in that order, each piece in one go, also when both streams are the
//    same file. Only where a piece without a newline is followed by another source's, a newline is
//    put between them.
// 2. Nothing is dropped, but for what follows an error on that stream, or abandon().
class Output {
 public:
  using Failed = std::function<void(Stream stream, int error)>;

  // The descriptors stay the caller's. The loop outlives this.
  Output(LiveLoop& loop, int out, int err);
  ~Output();  // after all is written
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void write(Stream stream, int source, std::string bytes);
  bool full();  // true: stop reading from the processes until on_room
  void on_room(std::function<void()> hook) { on_room_ = std::move(hook); }
  void on_failed(Failed hook) { on_failed_ = std::move(hook); }
  // Calls back, by the loop, when all that was written so far has come out.
  void flush(std::function<void()> done);
  void abandon();  // drops what is queued: whoever should read it does not

 private:
  struct Piece {
    Stream stream{};
    int source = 0;
    std::string bytes;
    std::function<void()> flushed;  // instead of bytes
  };
  struct File {
    int descriptor = -1;
    bool failed = false;
  };
  void main();
  void put(const Piece& piece);
  void put_bytes(Stream stream, std::string_view bytes);

  LiveLoop& loop_;
  std::function<void()> on_room_;
  Failed on_failed_;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Piece> queue_;  // guarded by mutex_, as are the four below
  std::size_t queued_ = 0;   // bytes
  bool said_full_ = false;
  bool stopping_ = false;
  bool abandoned_ = false;

  // The writing thread's.
  File files_[2];
  bool same_file_ = false;
  int open_source_[2] = {-1, -1};  // whose line has no newline yet; by stream, or [0] if the same
  Descriptor abandon_event_;
  std::thread thread_;  // last: it uses everything above
};

}  // namespace shoal
