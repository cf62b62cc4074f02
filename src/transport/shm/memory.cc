#include "transport/shm/memory.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stop_token>
#include <system_error>

#include "base/error.h"

namespace shoal::shm {
namespace {

constexpr Bytes kLargePage{2 << 20};
constexpr int kCollapse = 25;  // MADV_COLLAPSE, which glibc 2.36 lacks
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;

void require(bool good, const char* call, Bytes size) {
  if (good) return;
  throw Error(
      fmt::format("{} bytes of shared memory: {}: {}; is there enough memory, and a free file "
                  "descriptor left (ulimit -n)?",
                  size, call, std::strerror(errno)));
}

// Rounded up to large pages, if it is as large as one.
std::uint64_t mapped_size(Bytes size) {
  const std::uint64_t large = kLargePage.value();
  return size < kLargePage ? size.value() : (size.value() + large - 1) / large * large;
}

// Mapped at a large-page boundary, if it is as large as one. MAP_FAILED, with errno, on failure.
void* map_shared(Bytes size, int protection, int descriptor) {
  const std::uint64_t large = kLargePage.value();
  if (size < kLargePage) return mmap(nullptr, size.value(), protection, MAP_SHARED, descriptor, 0);
  const std::uint64_t whole = mapped_size(size);
  void* const room =
      mmap(nullptr, whole + large, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return room;
  auto* const begin = static_cast<std::byte*>(room);
  const std::uint64_t before = large - reinterpret_cast<std::uintptr_t>(room) % large;
  munmap(begin, before);
  if (before < large) munmap(begin + before + whole, large - before);
  void* const at = mmap(begin + before, whole, protection, MAP_SHARED | MAP_FIXED, descriptor, 0);
  if (at != MAP_FAILED) return at;
  const int error = errno;
  munmap(begin + before, whole);
  errno = error;
  return MAP_FAILED;
}

// Replaces small pages by large ones, one after the other, regardless of the system's default,
// which is small pages for shared memory unless its administrator changes it. The contents stay;
// peers that have mapped them see the same memory.
void gather_pages(std::stop_token stop, std::byte* data, std::uint64_t size) {
  const std::uint64_t page = kLargePage.value();
  for (std::uint64_t at = 0; at + page <= size && !stop.stop_requested(); at += page) {
    // Only present pages can be collapsed.
    if (madvise(data + at, 1, MADV_POPULATE_WRITE) != 0) return;              // needs Linux 5.14
    if (madvise(data + at, page, kCollapse) != 0 && errno != EAGAIN) return;  // needs Linux 6.1
  }
}

// On a thread of its own, because each page takes a millisecond or two: beside the reading of data
// and the first steps.
std::jthread gathering_of(std::byte* data, Bytes size) {
  if (size < kLargePage) return {};
  try {
    return std::jthread(gather_pages, data, size.value());
  } catch (const std::system_error&) {
    return {};  // no thread is available: pages stay small
  }
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
  void* at = map_shared(size, PROT_READ | PROT_WRITE, fd);
  require(at != MAP_FAILED, "mmap", size);
  data_ = static_cast<std::byte*>(at);
  // Our mapping stays writable; from here on neither we nor a peer can make another.
  if (fcntl(fd, F_ADD_SEALS, kSeals) == 0) {
    gathering_ = gathering_of(data_, size);
    return;
  }
  const int error = errno;
  munmap(data_, mapped_size(size));
  errno = error;
  require(false, "F_ADD_SEALS (needs Linux 5.1 or later)", size);
}

OwnMemory::~OwnMemory() {
  gathering_ = {};  // waits for its end
  munmap(data_, mapped_size(size_));
}

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
  void* at = map_shared(size_, PROT_READ, descriptor.get());
  if (at == MAP_FAILED)
    throw Corrupt(
        fmt::format("{} of {} bytes cannot be mapped: {}", what, size_, std::strerror(errno)));
  data_ = static_cast<const std::byte*>(at);
}

PeerMemory::~PeerMemory() { munmap(const_cast<std::byte*>(data_), mapped_size(size_)); }

}  // namespace shoal::shm
