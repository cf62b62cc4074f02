#include "transport/shm/memory.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace shoal::shm {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;

void require(bool good, const char* call, Bytes size) {
  if (good) return;
  throw Error(
      fmt::format("{} bytes of shared memory: {}: {}; is there memory and a free file "
                  "descriptor left (ulimit -n)?",
                  size, call, std::strerror(errno)));
}

}  // namespace

void UniqueFd::reset() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

OwnMemory::OwnMemory(const char* name, Bytes size) : size_(size) {
  descriptor_ = UniqueFd(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  require(bool(descriptor_), "memfd_create", size);
  const int fd = descriptor_.get();
  require(ftruncate(fd, static_cast<off_t>(size.value())) == 0, "ftruncate", size);
  void* at = mmap(nullptr, size.value(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  require(at != MAP_FAILED, "mmap", size);
  data_ = static_cast<std::byte*>(at);
  // Our mapping stays writable; from here on no other can be made, by us or by a peer.
  if (fcntl(fd, F_ADD_SEALS, kSeals) == 0) return;
  const int error = errno;
  munmap(data_, size.value());
  errno = error;
  require(false, "F_ADD_SEALS (Linux 5.1 or later has all we need)", size);
}

OwnMemory::~OwnMemory() { munmap(data_, size_.value()); }

PeerMemory::PeerMemory(const UniqueFd& descriptor, const std::string& what) {
  const int seals = fcntl(descriptor.get(), F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals)
    throw Corrupt(
        fmt::format("corrupt {}: memory with seals {:#x} instead of {:#x}; it could "
                    "shrink while we read it",
                    what, seals, kSeals));
  struct stat status {};
  if (fstat(descriptor.get(), &status) != 0 || status.st_size <= 0)
    throw Corrupt(fmt::format("corrupt {}: memory of {} bytes", what, status.st_size));
  size_ = Bytes(static_cast<std::uint64_t>(status.st_size));
  void* at = mmap(nullptr, size_.value(), PROT_READ, MAP_SHARED, descriptor.get(), 0);
  if (at == MAP_FAILED)
    throw Corrupt(
        fmt::format("{} of {} bytes cannot be mapped: {}", what, size_, std::strerror(errno)));
  data_ = static_cast<const std::byte*>(at);
}

PeerMemory::~PeerMemory() { munmap(const_cast<std::byte*>(data_), size_.value()); }

}  // namespace shoal::shm
