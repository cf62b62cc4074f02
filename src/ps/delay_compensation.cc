#include "ps/delay_compensation.h"

#include <cmath>
#include <span>
#include <utility>

#include "runtime/slices.h"

namespace shoal {

void DelayCompensation::note_read(const HostedShard& shard, NodeId worker,
                                  std::shared_ptr<Version> version) {
  shards_[shard.number].read[worker] = std::move(version);
}

// By the mean gradient.
Task<Gradient> DelayCompensation::corrected(HostedShard& shard, NodeId worker,
                                            std::uint64_t samples, Gradient gradient) {
  constexpr float kKeep = 0.95F, kEpsilon = 1e-7F;  // of the mean square, as in the paper
  const Compensation& by = server_.options.ps.compensation;
  const bool adaptive = std::holds_alternative<compensation::Adaptive>(by);
  Seen& seen = shards_[shard.number];
  const auto it = seen.read.find(worker);
  const std::shared_ptr<Version> then = it == seen.read.end() ? nullptr : it->second;
  const Elements n(gradient.bytes.size.value() / sizeof(float));
  auto own = std::make_shared<Arena>(server_.node.endpoint, n, server_.substance);
  const std::span<float> to = own->all().data();
  if (adaptive) seen.mean_square.resize(to.size(), 0);
  const auto* const g = reinterpret_cast<const float*>(gradient.bytes.data);
  const std::span<const float> now = shard.state->parameters()->w.all().data();
  const std::span<const float> before =
      then == nullptr ? now : std::span<const float>(then->w.all().data());
  const auto lambda = static_cast<float>(lambda_of(by));
  const float scale = server_.plan.mean ? 1 / static_cast<float>(samples) : 1;
  co_await in_slices(server_.node.env, Work::Reduce, n.value(), g == nullptr, Order::Forward, 1,
                     [&](std::size_t from, std::size_t end) {
                       for (std::size_t i = from; i < end; ++i) {
                         const float mean = g[i] * scale;
                         float factor = lambda;
                         if (adaptive) {
                           float& ms = seen.mean_square[i];
                           ms = kKeep * ms + (1 - kKeep) * mean * mean;
                           factor = lambda / std::sqrt(ms + kEpsilon);
                         }
                         to[i] = g[i] + factor * g[i] * mean * (now[i] - before[i]);
                       }
                     });
  Gradient made{own->bytes(), own};
  co_return made;
}

void DelayCompensation::forget_lost(const HostedShard& shard) {
  Seen& seen = shards_[shard.number];
  if (shard.chain.n == 0 || shard.chain.holders[0] != server_.self()) seen = Seen();
  std::erase_if(seen.read, [&](const auto& r) {
    return server_.node.membership.now().find(r.first) == nullptr;
  });
}

}  // namespace shoal
