#include "collective/fold.h"

#include <bit>
#include <vector>

#include "collective/steps.h"

namespace shoal {
namespace {

constexpr std::uint64_t kIn = 0;
constexpr std::uint64_t kOut = 1;

Group first_members(const Group& group, std::uint64_t count) {
  std::vector<Rank> ranks;
  for (std::uint32_t r = 0; r < count; ++r) ranks.emplace_back(r);
  return group.among(ranks);
}

Task<void> with_others(const Group& group, PowerOfTwoReduce reduce, Range data, Range scratch,
                       std::uint64_t operation) {
  const std::uint64_t P = group.size();
  const std::uint64_t r = group.rank.value();
  const std::uint64_t Q = std::bit_floor(P);
  const Tag in = group.tag(operation, kIn);
  const Tag out = group.tag(operation, kOut);
  if (r >= Q) {
    co_await give(group, group.at(r - Q), in, data);
    co_await receive(group, group.at(r - Q), out, data.bytes());
    co_return;
  }
  if (r + Q < P) co_await add_given(group, group.at(r + Q), in, data, scratch);
  const Group core = first_members(group, Q);
  co_await reduce(core, data, scratch, operation);
  if (r + Q < P) co_await group.node.endpoint.send(group.at(r + Q), out, data.bytes());
}

}  // namespace

Task<void> folded(const Group& group, PowerOfTwoReduce reduce, Range data, Range scratch,
                  std::uint64_t operation) {
  if (std::has_single_bit(group.size())) return reduce(group, data, scratch, operation);
  return with_others(group, reduce, data, scratch, operation);
}

}  // namespace shoal
