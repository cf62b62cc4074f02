// Addresses and sockets of control links.
#pragma once

#include <cstdint>
#include <string>

#include "membership/control.h"

namespace shoal {

// A listening, non-blocking socket; throws ConfigError that names host, port and what to do.
int listen_on(const std::string& host, std::uint16_t port);
std::uint16_t port_of(int descriptor);
bool is_wildcard(const std::string& host);  // "0.0.0.0", "::": every address of the machine
std::string join_address(const std::string& host, std::uint16_t port);  // "[::1]:80" for IPv6

// A non-blocking socket on its way to `address`. Throws ConfigError when that is no HOST:PORT, and
// LinkLost when it cannot even be tried.
int begin_connect(const std::string& address);
// What a failed connection says about the other side.
LinkLost::Cause cause_of(int error);
// The next connection, non-blocking, and who it is; -1 when there is none.
int accept_from(int listening, std::string& peer);

}  // namespace shoal
