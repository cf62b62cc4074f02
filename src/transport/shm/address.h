// The address of a shared-memory carrier, and the identity of the host.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shoal::shm {

inline constexpr std::uint16_t kShmVersion = 1;

struct Address {
  std::string host;    // identity of the machine and of the network namespace
  std::string socket;  // name of an abstract Unix socket
};

std::string encode_address(const Address& address);
// Empty for bytes that encode_address() of this version cannot have made.
std::optional<Address> decode_address(std::string_view bytes);

// The running kernel and the network namespace, to which abstract sockets belong.
std::string this_host();
// 128 random bits: unique and unguessable.
std::string fresh_socket_name();

}  // namespace shoal::shm
