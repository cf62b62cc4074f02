#include "runtime/endpoint.h"

#include "base/error.h"

namespace shoal {

void require_size(const Received& received, Bytes expected) {
  if (received.size == expected) return;
  throw Corrupt(
      fmt::format("message from node {}: {} bytes where {} were expected; does it train "
                  "another model, or run another build?",
                  received.from, received.size, expected));
}

}  // namespace shoal
