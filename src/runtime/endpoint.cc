#include "runtime/endpoint.h"

#include <cstring>
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
  constexpr std::align_val_t kAlignment{64};
  auto* const data = static_cast<std::byte*>(::operator new(size.value(), kAlignment));
  std::memset(data, 0, size.value());
  return {data, [](std::byte* d) { ::operator delete(d, kAlignment); }};
}

}  // namespace shoal
