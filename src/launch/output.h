// Passes the output of processes on to the launcher's own stdout and stderr.
//
// A LineSplitter makes whole lines of the bytes of one pipe. Output writes them on a thread of its
// own, because the reader of our stdout may be slow, and the loop must not wait.
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

// Thread safety: none. Invariant: the output equals the input, except for the prefix of each line
// and a newline inside lines longer than the limit, which would use up the memory otherwise.
class LineSplitter {
 public:
  static constexpr std::size_t kLineMax = std::size_t{16} << 20U;

  explicit LineSplitter(std::string prefix, std::size_t line_max = kLineMax)
      : prefix_(std::move(prefix)), line_max_(line_max) {}
  std::string feed(std::string_view bytes);  // returns the lines that are complete now
  std::string finish();                      // returns the last line, if it has no newline

 private:
  std::string prefix_;
  std::size_t line_max_;
  std::string line_;  // the incomplete line
};

enum class Stream : std::uint8_t { Out, Err };

// Thread safety: all methods belong to the loop's thread. Invariants:
// 1. Pieces come out in the order in which they were written, each in one go, even if both streams
//    are the same file. If another source's piece follows one without a newline, a newline is
//    inserted.
// 2. No byte is dropped, except after an error on that stream, or after abandon().
class Output {
 public:
  using Failed = std::function<void(Stream stream, int error)>;

  // The caller keeps the descriptors. The loop outlives this object.
  Output(LiveLoop& loop, int out, int err);
  ~Output();  // after everything is written
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void write(Stream stream, int source, std::string bytes);
  bool full();  // true: stop reading from the processes until on_room
  void on_room(std::function<void()> hook) { on_room_ = std::move(hook); }
  void on_failed(Failed hook) { on_failed_ = std::move(hook); }
  // The loop calls `done` when everything written so far has come out.
  void flush(std::function<void()> done);
  void abandon();  // drops queued output, because its reader does not read

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
  std::deque<Piece> queue_;  // guarded by mutex_, like the four fields below
  std::size_t queued_ = 0;   // bytes
  bool said_full_ = false;
  bool stopping_ = false;
  bool abandoned_ = false;

  // The writing thread's.
  File files_[2];
  bool same_file_ = false;
  int open_source_[2] = {-1, -1};  // the source of an unfinished line; by stream, or [0] if both
                                   // are the same
  Descriptor abandon_event_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace shoal
