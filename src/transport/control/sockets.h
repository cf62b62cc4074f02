// Addresses and sockets of control links.
#pragma once

#include <cstdint>
#include <string>

#include "membership/control.h"

namespace shoal {

// A listening, non-blocking socket. Throws ConfigError, which names host, port and the next action.
int listen_on(const std::string& host, std::uint16_t port);
std::uint16_t port_of(int descriptor);
bool is_wildcard(const std::string& host);  // "0.0.0.0", "::": all addresses of the machine
std::string join_address(const std::string& host, std::uint16_t port);  // "[::1]:80" for IPv6

// A non-blocking socket that is connecting to `address`. Throws ConfigError if the address is not
// HOST:PORT, and LinkLost if connecting fails at once.
int begin_connect(const std::string& address);
// The meaning of a connection error for the other side.
LinkLost::Cause cause_of(int error);
// The next connection, non-blocking, and its peer; -1 if there is none.
int accept_from(int listening, std::string& peer);

}  // namespace shoal
