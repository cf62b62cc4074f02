#include "transport/control/sockets.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

#include "base/check.h"
#include "base/error.h"
#include "base/parse.h"
#include "membership/control.h"

namespace shoal {
namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses look_up(const std::string& host, const std::string& port, bool passive) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = passive ? AI_PASSIVE : 0;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (error != 0)
    throw ConfigError(fmt::format("the host \"{}\" cannot be looked up: {}. Is the name right?",
                                  host, gai_strerror(error)));
  return {found, &freeaddrinfo};
}

struct HostAndPort {
  std::string host;
  std::string port;
};

HostAndPort split(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  HostAndPort parts;
  bool good = colon != std::string::npos && colon > 0;
  if (good) {
    parts.host = address.substr(0, colon);
    parts.port = address.substr(colon + 1);
    good = parse_number<std::uint16_t>(parts.port, {.least = 1}).has_value();
    if (parts.host.size() > 2 && parts.host.front() == '[' && parts.host.back() == ']')
      parts.host = parts.host.substr(1, parts.host.size() - 2);
  }
  if (!good)
    throw ConfigError(
        fmt::format("\"{}\" is not the address of a process; expected HOST:PORT", address));
  return parts;
}

// Messages are small, and waited for.
void set_no_delay(int descriptor) {
  const int one = 1;
  SHOAL_CHECK_EQ(setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one), 0);
}

}  // namespace

bool is_wildcard(const std::string& host) { return host == "0.0.0.0" || host == "::"; }

std::string join_address(const std::string& host, std::uint16_t port) {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port)
                                             : fmt::format("[{}]:{}", host, port);
}

std::uint16_t port_of(int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  SHOAL_CHECK_EQ(getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size), 0);
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                   : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

int listen_on(const std::string& host, std::uint16_t port) {
  const Addresses addresses = look_up(host, std::to_string(port), true);
  const addrinfo& a = *addresses;
  const int descriptor = socket(a.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  SHOAL_CHECK(descriptor >= 0, "socket: {}", std::strerror(errno));
  const int one = 1;  // closing connections of an earlier process do not matter
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind(descriptor, a.ai_addr, a.ai_addrlen) == 0 && listen(descriptor, SOMAXCONN) == 0)
    return descriptor;
  const int error = errno;
  close(descriptor);
  if (error == EADDRINUSE)
    throw ConfigError(fmt::format(
        "port {} of {} is in use by another process. Choose another one, or none to let the system "
        "choose",
        port, host));
  throw ConfigError(
      fmt::format("cannot listen on port {} of {}: {}. Is that an address of this "
                  "machine, and the port allowed?",
                  port, host, std::strerror(error)));
}

int begin_connect(const std::string& address) {
  const HostAndPort parts = split(address);
  const Addresses addresses = look_up(parts.host, parts.port, false);
  const addrinfo& a = *addresses;
  const int descriptor = socket(a.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  SHOAL_CHECK(descriptor >= 0, "socket: {}", std::strerror(errno));
  set_no_delay(descriptor);
  if (connect(descriptor, a.ai_addr, a.ai_addrlen) == 0 || errno == EINPROGRESS) return descriptor;
  const int error = errno;
  close(descriptor);
  throw LinkLost(fmt::format("no connection to {}: {}", address, std::strerror(error)),
                 cause_of(error));
}

LinkLost::Cause cause_of(int error) {
  const bool gone = error == ECONNREFUSED || error == ECONNRESET || error == EPIPE || error == 0;
  return gone ? LinkLost::Cause::Gone : LinkLost::Cause::Unreachable;
}

int accept_from(int listening, std::string& peer) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  const int descriptor = accept4(listening, generic, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (descriptor < 0) return -1;  // none, or it was closed already
  set_no_delay(descriptor);
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  const int error = getnameinfo(generic, size, host.data(), host.size(), port.data(), port.size(),
                                NI_NUMERICHOST | NI_NUMERICSERV);
  peer = error == 0 ? fmt::format("{}:{}", host.data(), port.data()) : "somebody";
  return descriptor;
}

}  // namespace shoal
