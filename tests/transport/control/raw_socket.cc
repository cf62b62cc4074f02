#include "transport/control/raw_socket.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <stdexcept>
#include <utility>

namespace shoal {
namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int checked(int result, const char* call) {
  if (result < 0) throw std::runtime_error(call);
  return result;
}

int make_socket() {
  const int descriptor = checked(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
  timeval limit{};
  limit.tv_sec = 20;
  setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  return descriptor;
}

}  // namespace

RawSocket::RawSocket(RawSocket&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

RawSocket::~RawSocket() {
  if (descriptor_ >= 0) close(descriptor_);
}

RawSocket RawSocket::connect_to(const std::string& address) {
  RawSocket made(make_socket());
  const sockaddr_in to =
      loopback(static_cast<std::uint16_t>(std::stoul(address.substr(address.rfind(':') + 1))));
  checked(connect(made.descriptor_, reinterpret_cast<const sockaddr*>(&to), sizeof to), "connect");
  return made;
}

RawSocket RawSocket::listener() {
  RawSocket made(make_socket());
  const sockaddr_in at = loopback(0);
  checked(bind(made.descriptor_, reinterpret_cast<const sockaddr*>(&at), sizeof at), "bind");
  checked(listen(made.descriptor_, 8), "listen");
  return made;
}

std::string RawSocket::address() const {
  sockaddr_in at{};
  socklen_t size = sizeof at;
  checked(getsockname(descriptor_, reinterpret_cast<sockaddr*>(&at), &size), "getsockname");
  return fmt::format("127.0.0.1:{}", ntohs(at.sin_port));
}

RawSocket RawSocket::accept() {
  return RawSocket(checked(::accept(descriptor_, nullptr, nullptr), "accept"));
}

void RawSocket::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) throw std::runtime_error("send");
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

std::string RawSocket::read(std::size_t size) {
  std::string bytes(size, '\0');
  std::size_t got = 0;
  while (got < size) {
    const ssize_t n = recv(descriptor_, bytes.data() + got, size - got, 0);
    if (n <= 0) break;
    got += static_cast<std::size_t>(n);
  }
  bytes.resize(got);
  return bytes;
}

void RawSocket::close_with_reset() {
  linger at_once{};
  at_once.l_onoff = 1;
  setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close(std::exchange(descriptor_, -1));
}

}  // namespace shoal
