// The first half of a synchronous step: who computes what, and the gradients.

#include "collective/dissemination.h"
#include "sync/sync_step.h"

namespace shoal {
namespace {

// Where gradients do not come in buckets they are exchanged in as large ones.
constexpr std::uint64_t kWholeBucket = 1 << 18;  // elements

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

// ---- Who computes what

std::uint64_t SyncStep::batch_of(const View& view, std::uint64_t epoch) const {
  const std::uint64_t batch = batch_in(options_.growth, options_.batch, epoch);
  if (options_.recipe.keep == KeepBatch::Global) return batch;
  return std::max<std::uint64_t>(1, batch * view.size() / options_.workers);
}

// By measured speed, once that of all is known.
std::vector<double> SyncStep::weights() const {
  std::vector<double> weights;
  for (std::size_t r = 0; r < guests_.size(); ++r) weights.push_back(guests_[r] ? 0 : 1);
  if (options_.recipe.balance == Balance::Even) return weights;
  for (std::size_t r = 0; r < guests_.size(); ++r)
    if (!guests_[r] && speeds_[r] <= 0) return weights;
  for (std::size_t r = 0; r < guests_.size(); ++r) weights[r] *= speeds_[r];
  return weights;
}

// A micro-shard for each worker; or one for each two; or one for each shard, neighbours to the same
// worker.
std::vector<MicroShard> SyncStep::empty_micro_shards() const {
  std::vector<Rank> present;
  for (std::uint32_t r = 0; r < guests_.size(); ++r)
    if (!guests_[r]) present.emplace_back(r);
  std::vector<MicroShard> micro_shards;
  micro_shards.reserve(std::max<std::size_t>(present.size(), options_.recipe.shards));
  const auto add = [&](Rank worker, Rank deputy) {
    micro_shards.push_back(
        {static_cast<std::uint32_t>(micro_shards.size()), worker, deputy, worker});
  };
  if (options_.recipe.shards > 0) {
    const std::vector<std::uint64_t> each =
        split(options_.recipe.shards, std::vector<double>(present.size(), 1));
    for (std::size_t i = 0; i < present.size(); ++i)
      for (std::uint64_t shard = 0; shard < each[i]; ++shard) add(present[i], present[i]);
  } else if (options_.recipe.stragglers == StragglerPolicy::Redundant) {
    const std::size_t half = (present.size() + 1) / 2;
    for (std::size_t i = 0; i < half; ++i)
      add(present[i], half + i < present.size() ? present[half + i] : present[i]);
  } else {
    for (const Rank r : present) add(r, r);
  }
  return micro_shards;
}

// The batch is leased in one go, to nobody in particular, and the micro-shards are cut out of it:
// with a lease for each of P workers a step would cost all replicas P squared of them.
void SyncStep::deal(const View& view) {
  const std::uint64_t epoch = replica_.ledger.epoch() + (replica_.ledger.epoch_ended() ? 1 : 0);
  const std::uint64_t n = std::min(batch_of(view, epoch), replica_.ledger.left());
  micro_shards_ = empty_micro_shards();
  const std::vector<double> by_rank = weights();
  std::vector<double> by_micro_shard;
  by_micro_shard.reserve(micro_shards_.size());
  for (const MicroShard& micro_shard : micro_shards_)
    by_micro_shard.push_back(options_.recipe.shards > 0 ? 1 : by_rank[micro_shard.worker.value()]);
  const std::vector<std::uint64_t> counts = split(n, by_micro_shard);
  std::vector<Share> dealt;
  for (std::uint64_t left = n; left > 0; left -= dealt.back().n)
    dealt.push_back(replica_.ledger.deal(kNobody, Incarnation(), left));
  shares_.clear();
  shares_.reserve(micro_shards_.size() + dealt.size());  // MicroShards refer to them.
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
  if (options_.recipe.shards == 0)
    std::erase_if(micro_shards_,
                  [](const MicroShard& micro_shard) { return micro_shard.counted == 0; });
  terms_.clear();
  for (const MicroShard& micro_shard : micro_shards_)
    if (micro_shard.counted > 0) terms_.push_back(micro_shard.winner);
  batch_ = n;
}

std::vector<SampleId> SyncStep::samples_of(const MicroShard& micro_shard) const {
  std::vector<SampleId> all;
  for (const Share& share : micro_shard.shares) {
    const std::vector<SampleId> ids = replica_.ledger.samples(share);
    all.insert(all.end(), ids.begin(), ids.end());
  }
  return all;
}

Portion SyncStep::portion_of(const MicroShard& micro_shard, std::size_t pass,
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

// What this worker will probably be dealt next: its part of the next global batch.
Task<void> SyncStep::prefetch(const Group& group) {
  const Recipe& recipe = options_.recipe;
  const bool in_one_go =
      recipe.accumulate == 1 && recipe.shards == 0 && recipe.stragglers == StragglerPolicy::All;
  const std::uint64_t epoch = replica_.ledger.epoch();
  const std::vector<Share> next = replica_.ledger.peek(batch_of(*group.view, epoch), 1);
  if (!in_one_go || next.empty() || replica_.step + Step(1) >= options_.steps) co_return;
  const std::vector<std::uint64_t> counts = split(next[0].n, weights());
  Share own = next[0];
  for (std::uint32_t r = 0; r < group.rank.value(); ++r) own.at += counts[r];
  own.n = counts[group.rank.value()];
  Portion portion{own.epoch, replica_.step + Step(1), group.rank.value(),
                  replica_.ledger.samples(own)};
  co_await learner_.prefetch(node_.env, std::move(portion));
}

// ---- All at once, bucket by bucket

Task<void> SyncStep::compute(Channel<Ready>& ready, const Group& group) {
  const Rank rank = group.rank;
  const Time begin = node_.env.now();
  const auto own = std::ranges::find_if(
      micro_shards_, [&](const MicroShard& micro_shard) { return micro_shard.is_of(rank); });
  const std::uint64_t n = own == micro_shards_.end() ? 0 : own->samples();
  InPassReducer* const meeting = in_pass_ ? &*in_pass_ : nullptr;
  if (n == 0) {
    Portion nothing{replica_.ledger.epoch(), replica_.step, rank.value(), {}};
    const GradientTarget target{replica_.g().all(), sink(group, 1), meeting};
    co_await learner_.gradient(node_.env, replica_.w(), target, std::move(nothing), ready,
                               report_.own);
    if (in_pass_) in_pass_->close();
    co_return;
  }
  GradientAdder adder(replica_.g().all());
  const std::size_t passes = std::min<std::size_t>(options_.recipe.accumulate, n);
  for (std::size_t pass = 0; pass < passes; ++pass) {
    GradientTarget target{replica_.g().all(), sink(group, passes), meeting};
    if (pass > 0) target.sink = &adder;
    Channel<Ready> unheard;
    const bool last = pass + 1 == passes;
    if (!last || added_late_ || updater_ == Updater::Apart) target.buckets = Taken::AtTheEnd;
    Channel<Ready>& heard = last ? ready : unheard;
    Portion portion = portion_of(*own, pass, passes);
    co_await learner_.gradient(node_.env, replica_.w(), target, std::move(portion), heard,
                               report_.own);
  }
  if (in_pass_) in_pass_->close();
  take_rest();
  report_.compute = node_.env.now() - begin;
}

// ---- In logical shards

// Every worker sums the subtrees of its shards; the owners of the parts do the rest.
Task<void> SyncStep::compute_shards(const Group& group) {
  const Time begin = node_.env.now();
  const std::uint32_t L = options_.recipe.shards;
  held_.clear();
  own_sums_.clear();
  shard_sums_.begin();
  const ShardSums::Compute compute = [this](std::uint32_t shard, GradientTarget target) {
    return compute_shard(shard, target);
  };
  for (std::uint32_t from = 0, to = 0; from < L; from = to) {
    const Rank worker = micro_shards_[from].winner;
    while (to < L && micro_shards_[to].winner == worker) ++to;
    for (const Subtree& node : subtrees(L, from, to)) {
      held_.push_back({node, worker});
      if (worker != group.rank) continue;
      const Range sum = co_await shard_sums_.of(node, compute);
      own_sums_.push_back(sum);
    }
  }
  cut_whole_range();
  report_.compute = node_.env.now() - begin;
}

Task<void> SyncStep::compute_shard(std::uint32_t shard, GradientTarget target) {
  Channel<Ready> unheard;
  Portion portion = portion_of(micro_shards_[shard], 0, 1);
  co_await learner_.gradient(node_.env, replica_.w(), target, std::move(portion), unheard,
                             report_.own);
  take_rest();
}

void SyncStep::cut_whole_range() {
  buckets_.clear();
  const std::uint64_t N = replica_.N.value();
  for (std::uint64_t at = 0; at < N; at += kWholeBucket)
    buckets_.push_back({static_cast<std::uint32_t>(buckets_.size()), Elements(at),
                        Elements(std::min(kWholeBucket, N - at))});
}

// ---- The rest of the model's state

// Before the first forward pass of a step.
void SyncStep::keep_rest() {
  rest_after_.clear();
  rest_next_.clear();
  rest_kept_ = false;
  if (!replica_.valid) return;
  const std::span<float> rest = replica_.buffers().data();
  rest_before_.assign(rest.begin(), rest.end());
  rest_kept_ = true;
}

// Of a step that is given up nothing stays.
void SyncStep::put_rest_back() {
  if (rest_kept_) std::ranges::copy(rest_before_, replica_.buffers().data().begin());
}

// As the own micro-shard of that number has left it.
void SyncStep::keep_rest_after(std::size_t micro_shard) {
  const std::span<float> rest = replica_.buffers().data();
  rest_after_.resize(micro_shard * rest.size());
  rest_after_.insert(rest_after_.end(), rest.begin(), rest.end());
}

void SyncStep::take_rest() {
  const std::size_t count = replica_.buffers().data().size();
  keep_rest_after(count == 0 ? 0 : rest_after_.size() / count);
  put_rest_back();
}

// The mean over the micro-shards, by samples; what is no number is taken from the first that
// counts.
Task<void> SyncStep::average_rest(const Group& group) {
  const std::size_t count = replica_.buffers().data().size();
  if (count == 0) co_return;
  const std::uint64_t P = group.size();
  std::vector<std::size_t> place(micro_shards_.size());  // of each micro-shard's among its worker's
  std::vector<std::size_t> micro_shards_each(P, 0);
  for (std::size_t i = 0; i < micro_shards_.size(); ++i)
    if (micro_shards_[i].winner != kDropped)
      place[i] = micro_shards_each[micro_shards_[i].winner.value()]++;
  const std::size_t most = std::max<std::size_t>(1, *std::ranges::max_element(micro_shards_each));
  rest_after_.resize(most * count, 0.0F);
  const std::span<const float> own = rest_after_;
  const std::vector<float> all =
      co_await rests_.of_all(group, own, shoal::operation(operations::kBuffers, replica_.step));

  const Layout& layout = learner_.layout();
  const std::size_t averaged = (layout.averaged() - layout.parameters()).value();
  std::vector<double> mean(averaged, 0);
  rest_next_.assign(count, 0.0F);
  bool first = true;
  for (std::size_t i = 0; i < micro_shards_.size(); ++i) {
    if (micro_shards_[i].counted == 0) continue;
    const float* const from =
        all.data() + (micro_shards_[i].winner.value() * most + place[i]) * count;
    const double weight =
        static_cast<double>(micro_shards_[i].counted) / static_cast<double>(batch_);
    for (std::size_t k = 0; k < averaged; ++k) mean[k] += weight * static_cast<double>(from[k]);
    if (std::exchange(first, false)) std::copy_n(from, count, rest_next_.begin());
  }
  std::ranges::transform(mean, rest_next_.begin(), [](double m) { return static_cast<float>(m); });
}

}  // namespace shoal
