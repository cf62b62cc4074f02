#include "sync/factor_sums.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "collective/steps.h"
#include "ps/factored.h"
#include "runtime/slices.h"
#include "runtime/task_group.h"

namespace shoal {
namespace {

// The matrix that fills the bucket; null: the bucket is not one matrix.
const TensorEntry* matrix_of(const Layout& layout, const Ready& bucket) {
  const std::span<const TensorEntry> tensors = layout.parameter_tensors();
  const auto it = std::ranges::lower_bound(tensors, bucket.at, {}, &TensorEntry::at);
  const bool whole = it != tensors.end() && it->at == bucket.at && it->n == bucket.n;
  return whole && it->shape.size() == 2 ? &*it : nullptr;
}

}  // namespace

bool poseidon_broadcasts(std::uint64_t B, std::uint64_t P, std::uint64_t S, std::uint64_t M,
                         std::uint64_t N) {
  return B * (P - 1) * (M + N) * S <= M * N * (P + S - 2);
}

// A member without samples has no factors, but must answer as the others do.
bool FactorSums::takes(const Group& group, const Ready& bucket) const {
  const FactorUse use = traits(context_.recipe.encode.as).factors;
  if (use == FactorUse::None || encoded_.begins_later() || group.size() == 1) return false;
  const TensorEntry* const matrix = matrix_of(learner_.layout(), bucket);
  if (matrix == nullptr || use == FactorUse::Matrices) return matrix != nullptr;
  std::uint64_t B = 0;
  for (const MicroShard& micro_shard : dealing_.micro_shards())
    B = std::max(B, micro_shard.samples());
  return poseidon_broadcasts(B, group.size(), group.size(),
                             static_cast<std::uint64_t>(matrix->shape[0]),
                             static_cast<std::uint64_t>(matrix->shape[1]));
}

// The factors stay in memory until the next step. The range is empty if this member had no samples.
Task<Range> FactorSums::pack_own(const Group& group, const Ready& bucket) {
  const ShardCut cut{bucket.at, bucket.n};
  std::vector<Layer> layers;
  if (bucket.factors) layers.push_back({bucket.at, *bucket.factors});
  const bool works =
      std::ranges::any_of(dealing_.micro_shards(), [&](const MicroShard& micro_shard) {
        return micro_shard.is_of(group.rank) && micro_shard.samples() > 0;
      });
  std::vector<float> words;
  co_await node_.env.work(Work::Copy, bucket.n, [&] {
    if (works) words = pack(cut, replica_.g().all().data(), layers);
  });
  while (sent_.size() <= bucket.bucket) sent_.emplace_back();
  std::optional<Arena>& room = sent_[bucket.bucket];
  const Elements most = packed_most(cut, 1);
  if (!room || room->size() < most) room.emplace(node_.endpoint, most, learner_.substance());
  const Range packed = room->range(Elements(0), Elements(words.size()));
  std::ranges::copy(words, packed.data().begin());
  co_return packed;
}

// Every member computes all gradients in the same order, also its own: all have the same bits.
Task<void> FactorSums::all_reduce(const Group& group, const Ready& bucket,
                                  std::uint64_t operation) {
  const Range g = replica_.g().range(bucket.at, bucket.n);
  const Range own = co_await pack_own(group, bucket);
  const Tag tag = group.tag(operation, 0);
  co_await node_.env.work(Work::Copy, g.n, [&] { std::ranges::fill(g.data(), 0.0F); });
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    for (std::uint64_t k = 1; k < group.size(); ++k) {
      const NodeId to = group.at((group.rank.value() + k) % group.size());
      tasks.spawn(as_task(node_.endpoint.publish(to, tag, own.bytes())));
    }
    for (std::uint32_t r = 0; r < group.size(); ++r) {
      if (Rank(r) == group.rank) {
        co_await add_formed(own.bytes(), g, node_.id);
        continue;
      }
      const Match match{.from = group.at(r), .tag = tag};
      const Reading there = co_await node_.endpoint.read(match);
      co_await add_formed(there.data(), g, there.from());
    }
  });
}

Task<void> FactorSums::add_formed(ConstBuf message, Range g, NodeId from) {
  if (message.size == Bytes(0)) co_return;
  std::optional<std::string> wrong;
  try {
    const Packed packed({g.at, g.n}, floats(message));
    const std::span<float> sum = g.data();
    co_await in_slices(node_.env, Work::Reduce, g.n.value(), false, Order::Forward, 1,
                       [&](std::size_t begin, std::size_t end) { packed.add(begin, end, sum); });
  } catch (const Corrupt& error) {
    wrong = error.what();
  }
  if (wrong) throw Corrupt(fmt::format("factors of node {}: {}", from, *wrong));
}

}  // namespace shoal
