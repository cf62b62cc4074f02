#include "job/host.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <random>

#include "base/hash.h"

namespace shoal {

HostId this_host() {
  Hash hash;
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  file >> boot;
  for (const char c : boot) hash.add(static_cast<std::uint64_t>(c));
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

}  // namespace shoal
