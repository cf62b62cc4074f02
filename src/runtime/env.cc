#include "runtime/env.h"

#include <array>
#include <vector>

namespace shoal {

std::string_view to_string(Work kind) {
  static constexpr std::array<std::string_view, kWorkKinds> kNames = {
      "forward", "backward", "reduce", "update", "encode", "decode", "copy", "io"};
  return kNames[static_cast<std::size_t>(kind)];
}

void Env::together(std::span<Lane* const> lanes, std::uint64_t turn) {
  Random draw = random(Purpose::Interleave, turn);
  std::vector<Lane*> left(lanes.begin(), lanes.end());
  while (!left.empty()) {
    const std::size_t k = draw.below(left.size());
    if (!left[k]->step()) left.erase(left.begin() + static_cast<std::ptrdiff_t>(k));
  }
}

}  // namespace shoal
