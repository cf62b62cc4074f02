// Replaces ucx_carrier.cc and ucx_worker.cc in builds without UCX.
#include <fmt/core.h>

#include "base/error.h"
#include "transport/ucx/ucx_carrier.h"

namespace shoal {

std::unique_ptr<Carrier> make_ucx_carrier(LiveLoop& loop, const UcxOptions& options) {
  (void)loop;
  throw ConfigError(
      fmt::format("this program was built without UCX, it cannot use the transports '{}'; "
                  "install libucx-dev and build again",
                  options.transports));
}

}  // namespace shoal
