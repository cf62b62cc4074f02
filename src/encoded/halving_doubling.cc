// Partners give each other half of what both have, encoded, down to one block each; then the sums
// of the blocks come together again, unchanged. Who is beyond the largest power of two gives all it
// has to a member below, and gets all blocks from there.
#include <bit>
#include <vector>

#include "encoded/forms.h"
#include "encoded/steps.h"

namespace shoal {
namespace {

constexpr std::uint64_t kFold = 0;
constexpr std::uint64_t kHalving = 1;           // and on, by round: fewer than 64
constexpr std::uint64_t kDoubling = 64;         // and on, by block
constexpr std::uint64_t kUnfold = 1ULL << 15U;  // and on, by block

}  // namespace

Task<void> encoded_halving_doubling(const Group& group, Encoder& encoder, Range g,
                                    std::uint64_t operation) {
  const std::uint64_t P = group.size();
  const std::uint64_t Q = std::bit_floor(P);
  const std::uint64_t r = group.rank.value();
  SHOAL_CHECK_LT(kDoubling + Q, kUnfold);
  const auto blocks = [&](std::uint64_t first, std::uint64_t count) {
    const Range begin = part_of(g, first, Q);
    const Range end = part_of(g, first + count - 1, Q);
    return Range{g.arena, begin.at, end.at + end.n - begin.at};
  };
  const auto tag = [&](std::uint64_t round) { return group.tag(operation, round); };
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    if (r >= Q) {
      const ConstBuf all = co_await message_of(group, encoder, g);
      give_message(group, tasks, r - Q, tag(kFold), all);
      for (std::uint64_t b = 0; b < Q; ++b) {
        const Reading reading = co_await read_message(group, r - Q, tag(kUnfold + b));
        co_await put(group, encoder, reading.data(), blocks(b, 1), group.at(r - Q));
      }
      co_return;
    }
    const bool folds = r + Q < P;
    if (folds) {
      const Reading reading = co_await read_message(group, r + Q, tag(kFold));
      co_await add_to(group, encoder, reading.data(), g, group.at(r + Q));
    }
    std::uint64_t round = kHalving;
    for (std::uint64_t d = Q / 2; d > 0; d /= 2, ++round) {
      const std::uint64_t kept = r / d * d;
      const ConstBuf given = co_await message_of(group, encoder, blocks(kept ^ d, d));
      give_message(group, tasks, r ^ d, tag(round), given);
      const Reading reading = co_await read_message(group, r ^ d, tag(round));
      co_await add_to(group, encoder, reading.data(), blocks(kept, d), group.at(r ^ d));
    }
    std::vector<ConstBuf> sums(Q);
    sums[r] = co_await message_of(group, encoder, blocks(r, 1));
    co_await put(group, encoder, sums[r], blocks(r, 1), group.at(r));
    for (std::uint64_t d = 1; d < Q; d *= 2) {
      const std::uint64_t held = r / d * d;
      for (std::uint64_t b = held; b < held + d; ++b)
        give_message(group, tasks, r ^ d, tag(kDoubling + b), sums[b]);
      for (std::uint64_t b = held ^ d; b < (held ^ d) + d; ++b) {
        sums[b] = co_await take_message(group, encoder, r ^ d, tag(kDoubling + b));
        co_await put(group, encoder, sums[b], blocks(b, 1), group.at(r ^ d));
      }
    }
    for (std::uint64_t b = 0; folds && b < Q; ++b)
      give_message(group, tasks, r + Q, tag(kUnfold + b), sums[b]);
  });
}

}  // namespace shoal
