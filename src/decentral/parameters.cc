#include "decentral/parameters.h"

namespace shoal {

double block_momentum(double asked, std::uint64_t workers) {
  return asked < 0 ? 1 - 1 / static_cast<double>(workers) : asked;
}

}  // namespace shoal
