#include "transport/shm/address.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "base/error.h"
#include "transport/shm/memory.h"

namespace shoal::shm {
namespace {

constexpr std::string_view kMagic = "shoal-shm";

std::string read_boot_id() {
  constexpr const char* kPath = "/proc/sys/kernel/random/boot_id";
  const UniqueFd file(::open(kPath, O_RDONLY | O_CLOEXEC));
  std::array<char, 64> text{};
  const ssize_t n = file ? ::read(file.get(), text.data(), text.size()) : -1;
  if (n < 36)
    throw Error(fmt::format("{}: {}; shared memory needs /proc to know which machine this is",
                            kPath, n < 0 ? std::strerror(errno) : "too short"));
  return {text.data(), 36};
}

}  // namespace

std::string encode_address(const Address& address) {
  SHOAL_CHECK(address.host.size() < 256 && address.socket.size() < 100);
  std::string bytes(kMagic);
  bytes += static_cast<char>(kShmVersion);
  bytes += static_cast<char>(address.host.size());
  return bytes + address.host + address.socket;
}

std::optional<Address> decode_address(std::string_view bytes) {
  if (bytes.size() < kMagic.size() + 2 || !bytes.starts_with(kMagic)) return std::nullopt;
  bytes.remove_prefix(kMagic.size());
  const auto version = static_cast<unsigned char>(bytes[0]);
  const auto host_size = static_cast<unsigned char>(bytes[1]);
  bytes.remove_prefix(2);
  if (version != kShmVersion || bytes.size() <= host_size || bytes.size() - host_size >= 100)
    return std::nullopt;
  return Address{std::string(bytes.substr(0, host_size)), std::string(bytes.substr(host_size))};
}

std::string this_host() {
  struct stat net {};
  if (stat("/proc/self/ns/net", &net) != 0)
    throw Error(
        fmt::format("/proc/self/ns/net: {}; shared memory needs /proc to know which "
                    "machine this is",
                    std::strerror(errno)));
  return fmt::format("{} {}:{}", read_boot_id(), net.st_dev, net.st_ino);
}

std::string fresh_socket_name() {
  std::array<unsigned char, 16> bits{};
  SHOAL_CHECK_EQ(getrandom(bits.data(), bits.size(), 0), ssize_t{16});
  std::string name = "shoal-";
  for (const unsigned char byte : bits) name += fmt::format("{:02x}", byte);
  return name;
}

}  // namespace shoal::shm
