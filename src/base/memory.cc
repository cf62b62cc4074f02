#include "base/memory.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <new>

namespace shoal {
namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kSmallPage = 4096;
constexpr std::size_t kLargePage = std::size_t{2} << 20U;

std::shared_ptr<std::byte> from_the_heap(std::size_t bytes) {
  std::size_t room = bytes + kCacheLine;
  void* const whole = std::calloc(1, room);
  if (whole == nullptr) throw std::bad_alloc();
  void* data = whole;
  std::align(kCacheLine, bytes, data, room);
  return {static_cast<std::byte*>(data), [whole](std::byte*) { std::free(whole); }};
}

bool begins_a_page(const std::byte* at) {
  return reinterpret_cast<std::uintptr_t>(at) % kSmallPage == 0;
}

}  // namespace

std::shared_ptr<std::byte> allocate_zeroed(std::size_t bytes) {
  return bytes < 2 * kLargePage ? from_the_heap(bytes) : allocate_pages(bytes);
}

std::shared_ptr<std::byte> allocate_pages(std::size_t bytes) {
  std::size_t room = bytes + kLargePage;
  void* const whole =
      mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (whole == MAP_FAILED) throw std::bad_alloc();
  const std::size_t mapped = room;
  void* data = whole;
  std::align(kLargePage, bytes, data, room);
  madvise(data, bytes, MADV_HUGEPAGE);  // kernels without large pages ignore it
  return {static_cast<std::byte*>(data), [whole, mapped](std::byte*) { munmap(whole, mapped); }};
}

std::size_t show_pages(std::byte* room, const std::byte* there, std::size_t bytes) {
  const std::size_t whole = bytes / kSmallPage * kSmallPage;
  if (whole == 0 || !begins_a_page(room) || !begins_a_page(there)) return 0;
  // A second mapping of the same memory, which only shared memory allows. It is made elsewhere
  // first, because a refusal would leave a hole at the target. The call is made by number, because
  // UCX replaces mremap() of the C library with one that ignores the target address.
  const long second = syscall(SYS_mremap, there, 0, whole, MREMAP_MAYMOVE, nullptr);
  if (second == -1) return 0;
  if (syscall(SYS_mremap, second, whole, whole, MREMAP_MAYMOVE | MREMAP_FIXED, room) == -1)
    throw std::bad_alloc();
  return whole;
}

void clear_pages(std::byte* room, std::size_t bytes) {
  if (mmap(room, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
      MAP_FAILED)
    throw std::bad_alloc();
  madvise(room, bytes, MADV_HUGEPAGE);
}

}  // namespace shoal
