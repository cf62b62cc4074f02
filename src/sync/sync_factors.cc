// Synchronous steps that exchange the factors of fully connected layers in place of their gradients
// (sufficient factor broadcasting). Xie, Kim, Zhou, Ho, Kumar, Yu, Xing, "Lighter-communication
// distributed machine learning via sufficient factor broadcasting", UAI 2016, arXiv:1409.5705; per
// layer where that is less: Zhang et al., "Poseidon", USENIX ATC 2017, arXiv:1706.03292.
//
//   of a weight of M x N': send the factors of the own gradient to all others;
//                          g <- sum over all members, by rank, of error^T x input
//   poseidon: so if 2 B (P-1) (M + N') <= 2 M N' (P + S - 2) / S, else all-reduce
//
// Symbols: P workers, B samples of the largest share, S servers. Fully connected layers are those
//   whose bucket is one matrix (learner/torch); without factors their gradients go whole.
// Cost a layer and worker: B (P-1) (M + N') values, and P B M N' multiplications.
// Deviation: where Poseidon has servers there is an all-reduce, in which each worker is the server
//   of a part: S = P.
// Failure: as any exchange of a step.
#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "collective/steps.h"
#include "ps/factored.h"
#include "runtime/slices.h"
#include "sync/sync_step.h"

namespace shoal {
namespace {

// Of a bucket that is one matrix.
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

// The same on all members: who has no samples has no factors.
bool SyncStep::by_factors(const Group& group, const Ready& bucket) const {
  const FactorUse use = traits(options_.recipe.encode.as).factors;
  if (use == FactorUse::None || plain_ || group.size() == 1) return false;
  const TensorEntry* const matrix = matrix_of(learner_.layout(), bucket);
  if (matrix == nullptr || use == FactorUse::Matrices) return matrix != nullptr;
  std::uint64_t B = 0;
  for (const MicroShard& micro_shard : micro_shards_) B = std::max(B, micro_shard.samples());
  return poseidon_broadcasts(B, group.size(), group.size(),
                             static_cast<std::uint64_t>(matrix->shape[0]),
                             static_cast<std::uint64_t>(matrix->shape[1]));
}

// In memory that stays until the next step. Nothing where there were no samples.
Task<Range> SyncStep::packed_factors(const Group& group, const Ready& bucket) {
  const ShardCut cut{bucket.at, bucket.n};
  std::vector<Layer> layers;
  if (bucket.factors) layers.push_back({bucket.at, *bucket.factors});
  const bool works = std::ranges::any_of(micro_shards_, [&](const MicroShard& micro_shard) {
    return micro_shard.is_of(group.rank) && micro_shard.samples() > 0;
  });
  std::vector<float> words;
  co_await node_.env.work(Work::Copy, bucket.n, [&] {
    if (works) words = pack(cut, replica_.g().all().data(), layers);
  });
  while (factors_.size() <= bucket.bucket) factors_.emplace_back();
  std::optional<Arena>& room = factors_[bucket.bucket];
  const Elements most = packed_most(cut, 1);
  if (!room || room->size() < most) room.emplace(node_.endpoint, most, learner_.substance());
  const Range packed = room->range(Elements(0), Elements(words.size()));
  std::ranges::copy(words, packed.data().begin());
  co_return packed;
}

// Everyone forms the same gradients in the same order, its own too: all have the same bits.
Task<void> SyncStep::reduce_factors(const Group& group, const Ready& bucket, std::uint64_t number) {
  const Range g = replica_.g().range(bucket.at, bucket.n);
  const Range own = co_await packed_factors(group, bucket);
  const Tag tag = group.tag(number, 0);
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

Task<void> SyncStep::add_formed(ConstBuf message, Range g, NodeId from) {
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
