// Dealing: which worker computes which samples of a synchronous step, and which of them count.
//
//   deal     the ledger leases the global batch, which is cut into micro-shards: one for each
//            worker, or one for each two (RedundantGradients), or one for each logical
//            shard, neighbours to the same worker
//   decide   where not all gradients count, the winner of each micro-shard
//   settle   the step counts: so do the samples of the winners
//
// The cut is even, or by the measured speeds of the workers (Balance::Auto). A member that has no
// state yet is a guest of its first step and gets no samples.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/types.h"
#include "data/ledger.h"
#include "learner/learner.h"
#include "replica/replica.h"
#include "runtime/view.h"
#include "sync/stragglers.h"
#include "sync/sync_context.h"

namespace shoal {

// A part of the global batch that one pass computes.
struct MicroShard {
  std::uint32_t number = 0;         // determines the random draws of its forward pass
  Rank worker, deputy;              // both compute it; usually the same worker
  Rank winner;                      // the worker whose gradient counts; or kDropped
  std::span<const Share> shares{};  // a part of the step's shares
  std::uint64_t counted = 0;        // samples of it that count

  std::uint64_t samples() const;
  bool is_of(Rank r) const { return worker == r || deputy == r; }
};

// n things in proportion to the weights, which are not all zero; the first get the remainder.
std::vector<std::uint64_t> split(std::uint64_t n, const std::vector<double>& weights);

class Dealing {
 public:
  Dealing(Replica& replica, const SyncContext& context) : replica_(replica), context_(context) {}

  void begin_view(const View& view, std::vector<bool> guests);
  // Notes the samples of a worker in the last step, and the time of its gradient.
  void measured(Rank worker, std::uint64_t samples, std::uint64_t compute_ns);

  // The samples of this step.
  void deal(const View& view);
  // The winner of each micro-shard, or kDropped.
  void decide(std::span<const std::uint64_t> winners);
  // Notes how many samples each winner has computed, by rank.
  void count(std::span<const std::uint64_t> samples);
  // The step counts.
  void settle();

  const std::vector<MicroShard>& micro_shards() const { return micro_shards_; }
  const MicroShard* micro_shard_of(Rank worker) const;  // null: it has none
  // The samples of all workers that count.
  std::uint64_t batch() const { return batch_; }
  // The workers whose gradients are added, in this order.
  const std::vector<Rank>& terms() const { return terms_; }

  std::vector<SampleId> samples_of(const MicroShard& micro_shard) const;
  Portion portion_of(const MicroShard& micro_shard, std::size_t pass, std::size_t passes) const;
  // The samples that a worker will probably be dealt in the next step.
  std::optional<Portion> next_portion(const View& view, Rank worker) const;
  // The same, if they are certain and nothing happens between the two steps.
  std::optional<Portion> certain_portion(const View& view, Rank worker) const;

 private:
  bool has_guests() const;
  std::uint64_t batch_of(const View& view, std::uint64_t epoch) const;
  std::vector<double> weights() const;
  std::vector<MicroShard> empty_micro_shards() const;
  void cut(std::vector<Share> dealt, const std::vector<std::uint64_t>& counts);
  void add_up();
  Share share_of(Share batch, Rank worker) const;

  Replica& replica_;
  const SyncContext& context_;
  // By rank, in this view.
  std::vector<bool> guests_;
  std::vector<double> speeds_;  // samples a second; 0: not known yet
  // In this step.
  std::vector<MicroShard> micro_shards_;
  std::vector<Share> shares_;  // of all micro-shards, one after the other
  std::vector<Rank> terms_;
  std::uint64_t batch_ = 0;
};

}  // namespace shoal
