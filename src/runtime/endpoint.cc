#include "runtime/endpoint.h"

#include <cstdlib>
#include <memory>
#include <new>

#include "base/error.h"

namespace shoal {

void require_size(const Received& received, Bytes expected) {
  if (received.size == expected) return;
  throw Corrupt(
      fmt::format("message from node {}: {} bytes where {} were expected; does it train "
                  "another model, or run another build?",
                  received.from, received.size, expected));
}

std::shared_ptr<std::byte> Endpoint::allocate(Bytes size) {
  // Zeroed by the allocator, which does not touch the pages of a large one: what is never written
  // takes no memory.
  constexpr std::size_t kAlignment = 64;
  std::size_t room = size.value() + kAlignment;
  void* const whole = std::calloc(1, room);
  if (whole == nullptr) throw std::bad_alloc();
  void* data = whole;
  std::align(kAlignment, size.value(), data, room);
  return {static_cast<std::byte*>(data), [whole](std::byte*) { std::free(whole); }};
}

}  // namespace shoal
