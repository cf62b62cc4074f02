#include "runtime/env.h"

#include <vector>

namespace shoal {

namespace {

constexpr auto kWorkNames = names<Work>({{Work::Forward, "forward"},
                                         {Work::Backward, "backward"},
                                         {Work::Reduce, "reduce"},
                                         {Work::Update, "update"},
                                         {Work::Encode, "encode"},
                                         {Work::Decode, "decode"},
                                         {Work::Copy, "copy"},
                                         {Work::Io, "io"}});
static_assert(kWorkNames.size() == kWorkKinds);

}  // namespace

std::string_view to_string(Work kind) { return kWorkNames.of(kind); }

void Env::together(std::span<Lane* const> lanes, std::uint64_t turn) {
  Random draw = random(Purpose::Interleave, turn);
  std::vector<Lane*> left(lanes.begin(), lanes.end());
  while (!left.empty()) {
    const std::size_t k = draw.below(left.size());
    if (!left[k]->step()) left.erase(left.begin() + static_cast<std::ptrdiff_t>(k));
  }
}

}  // namespace shoal
