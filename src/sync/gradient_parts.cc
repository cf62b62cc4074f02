#include "sync/gradient_parts.h"

#include <algorithm>

#include "collective/direct.h"
#include "sync/operations.h"

namespace shoal {
namespace {

// The last unit may be cut off.
Cuts equal_parts(Elements n, std::uint64_t parts, Elements unit) {
  constexpr std::uint64_t kMany = 64;
  const std::uint64_t size = n.value() >= kMany * parts * unit.value() ? unit.value() : 1;
  const Range units{nullptr, Elements(0), Elements((n.value() + size - 1) / size)};
  Cuts cuts;
  for (std::uint64_t i = 0; i < parts; ++i) {
    const Range part = part_of(units, i, parts);
    const Elements from = std::min(n, part.at * size);
    cuts.push_back({from, std::min(n, (part.at + part.n) * size) - from});
  }
  return cuts;
}

}  // namespace

void GradientParts::begin_view(std::uint64_t members, Elements unit) {
  cuts_ = equal_parts(replica_.N, members, unit);
}

Cuts GradientParts::cuts_of(const Ready& bucket) {
  Cuts cuts;
  for (const Cut& whole : cuts_) {
    const Elements from = std::clamp(whole.at, bucket.at, bucket.at + bucket.n);
    const Elements to = std::clamp(whole.at + whole.n, bucket.at, bucket.at + bucket.n);
    cuts.push_back({from - bucket.at, to - from});
  }
  return cuts;
}

Range GradientParts::own_part(const Group& group, const Ready& bucket) {
  const Range g = replica_.g().range(bucket.at, bucket.n);
  return cut_of(g, cuts_of(bucket)[group.rank.value()]);
}

Task<void> GradientParts::reduce_scatter(const Group& group, const Ready& bucket) {
  const Cuts cuts = cuts_of(bucket);
  if (context_.recipe.shards > 0) {
    co_await shards_.reduce_scatter(group, bucket, cuts);
    co_return;
  }
  const Range g = replica_.g().range(bucket.at, bucket.n);
  const std::uint64_t number = operation(replica_.step, bucket.bucket, BucketOperation::Reduce);
  co_await direct_reduce_scatter(group, g, cuts, dealing_.terms(), number);
}

}  // namespace shoal
