#include "launch/output.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/check.h"

namespace shoal {
namespace {

constexpr std::size_t kQueueMax = std::size_t{1} << 20U;
// A pipe that is ready takes this much without blocking.
constexpr std::size_t kAtOnce = 4096;

bool are_same_file(int a, int b) {
  struct stat fa {};
  struct stat fb {};
  return fstat(a, &fa) == 0 && fstat(b, &fb) == 0 && fa.st_dev == fb.st_dev &&
         fa.st_ino == fb.st_ino;
}

std::size_t index(Stream stream) { return static_cast<std::size_t>(stream); }

}  // namespace

std::string LineSplitter::feed(std::string_view bytes) {
  std::string lines;
  while (!bytes.empty()) {
    const std::size_t newline = bytes.find('\n');
    const std::size_t room = line_max_ - line_.size();
    const std::size_t n =
        std::min(newline == std::string_view::npos ? bytes.size() : newline, room);
    line_.append(bytes.substr(0, n));
    bytes.remove_prefix(n);
    const bool ends = !bytes.empty() && bytes.front() == '\n';
    if (!ends && line_.size() < line_max_) break;
    if (ends) bytes.remove_prefix(1);
    lines.append(prefix_).append(line_).append("\n");
    line_.clear();
  }
  return lines;
}

std::string LineSplitter::finish() {
  if (line_.empty()) return {};
  return prefix_ + std::exchange(line_, {});
}

Output::Output(LiveLoop& loop, int out, int err) : loop_(loop) {
  files_[0].descriptor = out;
  files_[1].descriptor = err;
  same_file_ = are_same_file(out, err);
  abandon_event_ = Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  SHOAL_CHECK(abandon_event_.valid(), "eventfd: {}", std::strerror(errno));
  // The thread blocks all signals: other threads handle them.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { main(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Output::~Output() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Output::write(Stream stream, int source, std::string bytes) {
  if (bytes.empty()) return;
  const std::lock_guard lock(mutex_);
  if (abandoned_) return;
  queued_ += bytes.size();
  queue_.push_back({stream, source, std::move(bytes), nullptr});
  wake_.notify_one();
}

void Output::flush(std::function<void()> done) {
  const std::lock_guard lock(mutex_);
  queue_.push_back({Stream::Out, 0, {}, std::move(done)});
  wake_.notify_one();
}

bool Output::full() {
  const std::lock_guard lock(mutex_);
  said_full_ = said_full_ || queued_ > kQueueMax;
  return said_full_;
}

void Output::abandon() {
  const std::lock_guard lock(mutex_);
  abandoned_ = true;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = ::write(abandon_event_.get(), &one, sizeof one);
}

void Output::main() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    Piece piece = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    if (piece.flushed)
      loop_.inject(std::move(piece.flushed));
    else
      put(piece);
    lock.lock();
    queued_ -= piece.bytes.size();
    if (said_full_ && queued_ <= kQueueMax / 2) {
      said_full_ = false;
      loop_.inject([this] {
        if (on_room_) on_room_();
      });
    }
  }
}

void Output::put(const Piece& piece) {
  int& open = open_source_[same_file_ ? 0 : index(piece.stream)];
  if (open >= 0 && open != piece.source) put_bytes(piece.stream, "\n");
  put_bytes(piece.stream, piece.bytes);
  open = piece.bytes.back() == '\n' ? -1 : piece.source;
}

void Output::put_bytes(Stream stream, std::string_view bytes) {
  File& file = files_[index(stream)];
  while (!bytes.empty() && !file.failed) {
    // Never blocks in write(), so that abandon() takes effect.
    pollfd ready[2] = {{file.descriptor, POLLOUT, 0}, {abandon_event_.get(), POLLIN, 0}};
    if (poll(ready, 2, -1) < 0) continue;
    if (ready[1].revents != 0) return;
    const ssize_t n = ::write(file.descriptor, bytes.data(), std::min(bytes.size(), kAtOnce));
    if (n >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno != EINTR && errno != EAGAIN) {
      file.failed = true;
      loop_.inject([this, stream, error = errno] {
        if (on_failed_) on_failed_(stream, error);
      });
    }
  }
}

}  // namespace shoal
