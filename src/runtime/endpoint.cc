#include "runtime/endpoint.h"

#include "base/error.h"
#include "base/memory.h"

namespace shoal {

void require_size(const Received& received, Bytes expected) {
  if (received.size == expected) return;
  throw Corrupt(
      fmt::format("message from node {}: {} bytes where {} were expected; does it train "
                  "another model, or run another build?",
                  received.from, received.size, expected));
}

void require_size(const Reading& reading, Bytes expected) {
  require_size(Received{reading.from(), reading.id(), reading.size()}, expected);
}

std::shared_ptr<std::byte> Endpoint::allocate(Bytes size) { return allocate_zeroed(size.value()); }

}  // namespace shoal
