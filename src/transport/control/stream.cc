#include "transport/control/stream.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace shoal {
namespace {

// Maximum of unread bytes, more than the largest frame: beyond it the socket is not read until the
// user takes some.
constexpr std::size_t kUnread = std::size_t{17} << 20U;
constexpr std::size_t kReadOnce = std::size_t{64} << 10U;

}  // namespace

TcpStream::TcpStream(LiveLoop& loop, int descriptor, std::string peer, bool connecting)
    : loop_(&loop), descriptor_(descriptor), peer_(std::move(peer)), connecting_(connecting) {
  interest_ = {.readable = true, .writable = connecting};
  loop_->watch(descriptor_, interest_, [this](Readiness readiness) { ready(readiness); });
}

TcpStream::~TcpStream() { lose("closed"); }

void TcpStream::lose(std::string why) {
  if (lost()) return;
  loop_->unwatch(descriptor_);
  close(std::exchange(descriptor_, -1));
  why_ = std::move(why);
}

void TcpStream::fail(int error) {
  error_ = error;
  lose(std::strerror(error));
}

// The hook may destroy this object, so it is called last.
void TcpStream::changed() {
  if (!hook_) return;
  const std::function<void()> hook = hook_;
  hook();
}

void TcpStream::ready(Readiness readiness) {
  if (connecting_) {
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(descriptor_, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
    if (error == 0 && !readiness.writable) return;
    connecting_ = false;
    if (error != 0) fail(error);
    if (!lost()) write_some();
    if (!lost()) set_interest();
    return changed();
  }
  const std::size_t before = in_.size();
  if (readiness.writable) write_some();
  if (readiness.readable && !lost()) read_some();
  if (!lost()) set_interest();
  if (lost() || in_.size() != before) changed();
}

void TcpStream::read_some() {
  std::array<char, kReadOnce> bytes;
  while (in_.size() - taken_ < kUnread) {
    const ssize_t n = recv(descriptor_, bytes.data(), bytes.size(), 0);
    if (n > 0) {
      if (!finishing_) in_.append(bytes.data(), static_cast<std::size_t>(n));
      if (static_cast<std::size_t>(n) < bytes.size()) return;
      continue;
    }
    if (n == 0) return lose("the other side closed the connection");
    if (errno == EAGAIN || errno == EWOULDBLOCK) return;
    if (errno != EINTR) return fail(errno);
  }
}

void TcpStream::write(std::string_view bytes) {
  if (lost() || finishing_) return;
  out_ += bytes;
  if (connecting_) return;
  write_some();
  if (!lost()) return set_interest();
  // Not inside of the caller's call: the loop reports the loss later.
  loop_->defer([this, here = std::weak_ptr<bool>(here_)] {
    if (here.lock() != nullptr) changed();
  });
}

void TcpStream::write_some() {
  while (written_ < out_.size()) {
    const ssize_t n =
        send(descriptor_, out_.data() + written_, out_.size() - written_, MSG_NOSIGNAL);
    if (n >= 0) {
      written_ += static_cast<std::size_t>(n);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return;
    } else if (errno != EINTR) {
      return fail(errno);
    }
  }
  out_.clear();
  written_ = 0;
  if (finishing_ && !std::exchange(shut_, true)) shutdown(descriptor_, SHUT_WR);
}

void TcpStream::set_interest() {
  const Readiness wanted = {.readable = in_.size() - taken_ < kUnread,
                            .writable = connecting_ || written_ < out_.size()};
  if (wanted == interest_) return;
  interest_ = wanted;
  loop_->rewatch(descriptor_, interest_);
}

void TcpStream::take(std::size_t size) {
  SHOAL_CHECK_LE(size, in_.size() - taken_);
  taken_ += size;
  if (taken_ == in_.size()) {
    in_.clear();
    taken_ = 0;
  } else if (taken_ > kReadOnce && taken_ > in_.size() / 2) {
    in_.erase(0, taken_);  // moves at most half of the bytes, so the total work is linear
    taken_ = 0;
  }
  if (!lost()) set_interest();
}

void TcpStream::finish() {
  if (lost()) return;
  finishing_ = true;
  in_.clear();
  taken_ = 0;
  if (connecting_) return lose("closed");
  write_some();
  if (!lost()) set_interest();
}

}  // namespace shoal
