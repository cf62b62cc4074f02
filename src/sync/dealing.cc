#include "sync/dealing.h"

#include <algorithm>

#include "base/check.h"

namespace shoal {
namespace {

// The weight of the last step in a worker's speed. A core shared with other programs is slow for
// some ten steps: with 0.2 shares adapt too late, with 1 they follow noise.
constexpr double kNewSpeed = 0.5;

}  // namespace

std::uint64_t MicroShard::samples() const {
  std::uint64_t n = 0;
  for (const Share& s : shares) n += s.n;
  return n;
}

std::vector<std::uint64_t> split(std::uint64_t n, const std::vector<double>& weights) {
  double total = 0;
  for (const double weight : weights) total += weight;
  SHOAL_CHECK_GT(total, 0);
  std::vector<std::uint64_t> counts;
  std::uint64_t given = 0;
  for (const double weight : weights) {
    counts.push_back(static_cast<std::uint64_t>(static_cast<double>(n) * weight / total));
    given += counts.back();
  }
  for (std::size_t i = 0; given < n; i = (i + 1) % weights.size()) {
    if (weights[i] <= 0) continue;
    ++counts[i];
    ++given;
  }
  return counts;
}

void Dealing::begin_view(const View& view, std::vector<bool> guests) {
  guests_ = std::move(guests);
  speeds_.assign(view.size(), 0);
}

void Dealing::measured(Rank worker, std::uint64_t samples, std::uint64_t compute_ns) {
  if (samples == 0 || compute_ns == 0) return;
  const double now = 1e9 * static_cast<double>(samples) / static_cast<double>(compute_ns);
  double& speed = speeds_[worker.value()];
  speed = speed <= 0 ? now : (1 - kNewSpeed) * speed + kNewSpeed * now;
}

bool Dealing::has_guests() const { return std::ranges::find(guests_, true) != guests_.end(); }

// ---- The cut

std::uint64_t Dealing::batch_of(const View& view, std::uint64_t epoch) const {
  const std::uint64_t batch = batch_in(context_.task.growth, context_.task.all_batches(), epoch);
  if (context_.recipe.keep == KeepBatch::Global) return batch;
  return std::max<std::uint64_t>(1, batch * view.size() / context_.task.workers);
}

// By measured speed, once the speeds of all are known.
std::vector<double> Dealing::weights() const {
  std::vector<double> weights;
  for (std::size_t r = 0; r < guests_.size(); ++r) weights.push_back(guests_[r] ? 0 : 1);
  if (context_.recipe.balance == Balance::Even) return weights;
  for (std::size_t r = 0; r < guests_.size(); ++r)
    if (!guests_[r] && speeds_[r] <= 0) return weights;
  for (std::size_t r = 0; r < guests_.size(); ++r) weights[r] *= speeds_[r];
  return weights;
}

std::vector<MicroShard> Dealing::empty_micro_shards() const {
  std::vector<Rank> present;
  for (std::uint32_t r = 0; r < guests_.size(); ++r)
    if (!guests_[r]) present.emplace_back(r);
  std::vector<MicroShard> micro_shards;
  micro_shards.reserve(std::max<std::size_t>(present.size(), context_.recipe.shards));
  const auto add = [&](Rank worker, Rank deputy) {
    micro_shards.push_back(
        {static_cast<std::uint32_t>(micro_shards.size()), worker, deputy, worker});
  };
  if (context_.recipe.shards > 0) {
    const std::vector<std::uint64_t> each =
        split(context_.recipe.shards, std::vector<double>(present.size(), 1));
    for (std::size_t i = 0; i < present.size(); ++i)
      for (std::uint64_t shard = 0; shard < each[i]; ++shard) add(present[i], present[i]);
  } else if (waits_by<RedundantGradients>(context_.recipe)) {
    const std::size_t half = (present.size() + 1) / 2;
    for (std::size_t i = 0; i < half; ++i)
      add(present[i], half + i < present.size() ? present[half + i] : present[i]);
  } else {
    for (const Rank r : present) add(r, r);
  }
  return micro_shards;
}

// The ledger leases the whole batch to no particular worker: with a lease for each of P workers, a
// step would take P squared leases over all replicas.
void Dealing::deal(const View& view) {
  const std::uint64_t epoch = replica_.ledger.epoch() + (replica_.ledger.epoch_ended() ? 1 : 0);
  const std::uint64_t n = std::min(batch_of(view, epoch), replica_.ledger.left());
  micro_shards_ = empty_micro_shards();
  const std::vector<double> by_rank = weights();
  std::vector<double> by_micro_shard;
  by_micro_shard.reserve(micro_shards_.size());
  for (const MicroShard& micro_shard : micro_shards_)
    by_micro_shard.push_back(context_.recipe.shards > 0 ? 1 : by_rank[micro_shard.worker.value()]);
  std::vector<Share> dealt;
  for (std::uint64_t left = n; left > 0; left -= dealt.back().n)
    dealt.push_back(replica_.ledger.deal(kNobody, Incarnation(), left));
  cut(std::move(dealt), split(n, by_micro_shard));
  if (context_.recipe.shards == 0)
    std::erase_if(micro_shards_,
                  [](const MicroShard& micro_shard) { return micro_shard.counted == 0; });
  add_up();
}

void Dealing::cut(std::vector<Share> dealt, const std::vector<std::uint64_t>& counts) {
  shares_.clear();
  shares_.reserve(micro_shards_.size() + dealt.size());  // Micro-shards refer to them.
  auto from = dealt.begin();
  for (MicroShard& micro_shard : micro_shards_) {
    micro_shard.counted = counts[micro_shard.number];
    const std::size_t first = shares_.size();
    for (std::uint64_t left = micro_shard.counted; left > 0; left -= shares_.back().n) {
      if (from->n == 0) ++from;
      shares_.push_back({from->epoch, from->at, std::min(left, from->n)});
      from->at += shares_.back().n;
      from->n -= shares_.back().n;
    }
    micro_shard.shares = std::span(shares_).subspan(first);
  }
}

void Dealing::add_up() {
  terms_.clear();
  batch_ = 0;
  for (const MicroShard& micro_shard : micro_shards_) {
    if (micro_shard.counted == 0) continue;
    terms_.push_back(micro_shard.winner);
    batch_ += micro_shard.counted;
  }
}

// ---- What counts

void Dealing::decide(std::span<const std::uint64_t> winners) {
  for (std::size_t i = 0; i < micro_shards_.size(); ++i) {
    MicroShard& micro_shard = micro_shards_[i];
    micro_shard.winner = Rank(static_cast<std::uint32_t>(winners[i]));
    micro_shard.counted = micro_shard.winner == kDropped ? 0 : micro_shard.samples();
  }
  add_up();
}

void Dealing::count(std::span<const std::uint64_t> samples) {
  for (MicroShard& micro_shard : micro_shards_)
    micro_shard.counted = samples[micro_shard.winner.value()];
  add_up();
}

void Dealing::settle() {
  Share run;  // of adjacent samples
  for (const MicroShard& micro_shard : micro_shards_) {
    std::uint64_t left = micro_shard.counted;
    for (const Share& share : micro_shard.shares) {
      const std::uint64_t n = std::min(left, share.n);
      left -= n;
      if (share.epoch != run.epoch || share.at != run.at + run.n) {
        replica_.ledger.settle(run, SampleEnd::Applied);
        run = {share.epoch, share.at, 0};
      }
      run.n += n;
    }
  }
  replica_.ledger.settle(run, SampleEnd::Applied);
  if (waits_by<FirstGradients>(context_.recipe)) {
    replica_.ledger.settle_leases(SampleEnd::Dropped);
  } else {
    replica_.ledger.revoke_all();  // The remainder is dealt first in the next step.
  }
  const LedgerPlace place = replica_.ledger.place();
  const auto all = static_cast<double>(replica_.ledger.samples_per_epoch());
  if (static_cast<double>(place.done()) >= context_.recipe.epoch_fraction * all)
    replica_.ledger.drop_rest();
  guests_.assign(guests_.size(), false);
}

// ---- Samples

const MicroShard* Dealing::micro_shard_of(Rank worker) const {
  const auto it = std::ranges::find_if(
      micro_shards_, [&](const MicroShard& micro_shard) { return micro_shard.is_of(worker); });
  return it == micro_shards_.end() ? nullptr : &*it;
}

std::vector<SampleId> Dealing::samples_of(const MicroShard& micro_shard) const {
  std::vector<SampleId> all;
  for (const Share& share : micro_shard.shares) {
    const std::vector<SampleId> ids = replica_.ledger.samples(share);
    all.insert(all.end(), ids.begin(), ids.end());
  }
  return all;
}

Portion Dealing::portion_of(const MicroShard& micro_shard, std::size_t pass,
                            std::size_t passes) const {
  Portion portion{replica_.ledger.epoch(), replica_.step, micro_shard.number,
                  samples_of(micro_shard)};
  if (passes == 1) return portion;
  const std::size_t n = portion.samples.size();
  const auto begin = portion.samples.begin();
  const auto at = [&](std::size_t i) {
    return begin + static_cast<std::ptrdiff_t>(i * n / passes);
  };
  portion.samples = std::vector<SampleId>(at(pass), at(pass + 1));
  return portion;
}

Share Dealing::share_of(Share batch, Rank worker) const {
  const std::vector<std::uint64_t> counts = split(batch.n, weights());
  for (std::uint32_t r = 0; r < worker.value(); ++r) batch.at += counts[r];
  batch.n = counts[worker.value()];
  return batch;
}

std::optional<Portion> Dealing::next_portion(const View& view, Rank worker) const {
  const std::uint64_t epoch = replica_.ledger.epoch();
  const std::vector<Share> next = replica_.ledger.peek(batch_of(view, epoch), 1);
  if (next.empty() || replica_.step + Step(1) >= context_.task.steps) return {};
  const Share own = share_of(next[0], worker);
  return Portion{own.epoch, replica_.step + Step(1), worker.value(), replica_.ledger.samples(own)};
}

// The step at hand has not ended, so its shares are on lease.
std::optional<Portion> Dealing::certain_portion(const View& view, Rank worker) const {
  const Step next = replica_.step + Step(1);
  const bool saved =
      context_.task.save_every > Step(0) && next.value() % context_.task.save_every.value() == 0;
  if (has_guests() || next >= context_.task.steps || saved) return {};
  const Ledger& ledger = replica_.ledger;
  const std::uint64_t epoch = ledger.epoch();
  const std::uint64_t n = std::min(batch_of(view, epoch), ledger.left());
  const std::vector<Share> shares = ledger.peek(n, 1);
  if (n == 0 || shares.empty() || shares[0].epoch != epoch || shares[0].n != n) return {};
  const Share own = share_of(shares[0], worker);
  if (own.n == 0) return {};
  return Portion{epoch, next, worker.value(), ledger.samples(own)};
}

}  // namespace shoal
