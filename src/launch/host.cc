#include "launch/host.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <random>

#include "base/hash.h"

namespace shoal {

std::uint64_t this_kernel() {
  Hash hash;
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  file >> boot;
  for (const char c : boot) hash.add(static_cast<std::uint64_t>(c));
  return hash.value();
}

HostId this_host() {
  Hash hash;
  hash.add(this_kernel());
  struct stat network {};
  if (stat("/proc/self/ns/net", &network) == 0) hash.add(network.st_ino);
  return HostId(static_cast<std::uint32_t>(hash.value()));
}

ProcessInfo this_process() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  std::random_device random;
  const std::uint64_t high = random();
  ProcessInfo who;
  who.host = name.data();
  who.process = static_cast<std::uint32_t>(getpid());
  who.instance = (high << 32U) | random();
  return who;
}

// A connected datagram socket sends nothing, but has an address.
std::string address_towards(const std::string& host) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), "9", &hints, &found) != 0) return {};
  std::string address;
  const int probe = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_in own{};
  socklen_t size = sizeof own;
  if (probe >= 0 && connect(probe, found->ai_addr, found->ai_addrlen) == 0 &&
      getsockname(probe, reinterpret_cast<sockaddr*>(&own), &size) == 0) {
    std::array<char, INET_ADDRSTRLEN> text{};
    if (inet_ntop(AF_INET, &own.sin_addr, text.data(), text.size()) != nullptr)
      address = text.data();
  }
  if (probe >= 0) close(probe);
  freeaddrinfo(found);
  return address;
}

}  // namespace shoal
