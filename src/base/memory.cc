#include "base/memory.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace shoal {
namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kLargePage = std::size_t{2} << 20U;

std::shared_ptr<std::byte> from_the_heap(std::size_t bytes) {
  std::size_t room = bytes + kCacheLine;
  void* const whole = std::calloc(1, room);
  if (whole == nullptr) throw std::bad_alloc();
  void* data = whole;
  std::align(kCacheLine, bytes, data, room);
  return {static_cast<std::byte*>(data), [whole](std::byte*) { std::free(whole); }};
}

}  // namespace

std::shared_ptr<std::byte> allocate_zeroed(std::size_t bytes) {
  if (bytes < 2 * kLargePage) return from_the_heap(bytes);
  std::size_t room = bytes + kLargePage;
  void* const whole =
      mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (whole == MAP_FAILED) throw std::bad_alloc();
  const std::size_t mapped = room;
  void* data = whole;
  std::align(kLargePage, bytes, data, room);
  madvise(data, bytes, MADV_HUGEPAGE);  // A kernel without large pages does without.
  return {static_cast<std::byte*>(data), [whole, mapped](std::byte*) { munmap(whole, mapped); }};
}

}  // namespace shoal
