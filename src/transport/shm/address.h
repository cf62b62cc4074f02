// Where a shared-memory carrier is found, and by whom.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shoal::shm {

inline constexpr std::uint16_t kShmVersion = 1;

struct Address {
  std::string host;    // identity of the machine and of the network namespace
  std::string socket;  // name of an abstract unix socket
};

std::string encode_address(const Address& address);
// Nothing for anything that encode_address() of this version cannot have made.
std::optional<Address> decode_address(std::string_view bytes);

// The running kernel and our network namespace, which abstract sockets belong to.
std::string this_host();
// 128 random bits: nobody else has it, nobody guesses it.
std::string fresh_socket_name();

}  // namespace shoal::shm
