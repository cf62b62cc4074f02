// The second half of a synchronous step: from gradients that are there to the state after it.
#include <cmath>

#include "base/error.h"
#include "collective/dissemination.h"
#include "runtime/slices.h"
#include "sync/sync_step.h"

namespace shoal {
namespace {

Task<void> read_there(const Group& group, Rank owner, Tag tag, Bytes size,
                      std::optional<Reading>& reading) {
  const Match match{.from = group.view->at(owner), .tag = tag};
  Reading there = co_await group.node.endpoint.read(match);
  require_size(there, size);
  reading = std::move(there);
}

const float* floats_of(const std::optional<Reading>& reading) {
  return reinterpret_cast<const float*>(reading->data().data);
}

}  // namespace

// ---- What is lent, and what is held

// Whoever is lost reads nothing any more.
Task<void> SyncStep::lend_to(const Group& group, NodeId to, Tag tag, Range range,
                             std::uint64_t& lent, bool kept) {
  Endpoint& endpoint = group.node.endpoint;
  SendOp loan =
      kept ? endpoint.lend(to, tag, range.bytes()) : endpoint.publish(to, tag, range.bytes());
  try {
    co_await loan;
  } catch (const PeerLost&) {
  }
  if (--lent == 0) returned_.notify_all();
}

Task<void> SyncStep::returned(const std::uint64_t& lent) {
  while (lent > 0) co_await returned_.wait();
}

// What finish() may change.
Task<void> SyncStep::all_returned() {
  co_await returned(state_lent_);
  if (!parts_.held()) co_return;
  co_await returned(parts_.lent_before());
  if (!parts_.prepared()) co_await returned(parts_.lent());
}

void SyncStep::lend(const Group& group, std::uint64_t& lent, Range range, std::uint64_t number,
                    bool kept) {
  lent += group.size() - 1;
  for (std::uint64_t k = 1; k < group.size(); ++k)
    lending_->spawn(lend_to(group, group.at((group.rank.value() + k) % group.size()),
                            group.tag(number, 0), range, lent, kept));
}

// What the update needs can be read here from now on, also when its owner is lost: the gradients of
// all whose count, or the sum of each part at its owner.
Task<void> SyncStep::hold_gradients(const Group& group) {
  gradients_there_.clear();
  gradients_there_.resize(group.size());
  const std::uint64_t number = shoal::operation(operations::kGradients, replica_.step);
  const Tag tag = group.tag(number, 0);
  const auto lent_by = [&](Rank r) {
    if (!added_late_) return part(group, r);
    const bool counts = std::ranges::find(terms_, r) != terms_.end();
    return replica_.g().range(Elements(0), counts ? replica_.N : Elements(0));
  };
  const Range own = lent_by(group.rank);
  if (own.n > Elements(0)) lend(group, gradients_lent_[turn_], own, number);
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    for (std::uint32_t r = 0; r < group.size(); ++r) {
      const Range there = lent_by(Rank(r));
      if (Rank(r) != group.rank && there.n > Elements(0))
        tasks.spawn(read_there(group, Rank(r), tag, there.bytes().size, gradients_there_[r]));
    }
    co_return;
  });
}

// Of these elements of the gradients that are held: where they are, to be added.
std::vector<const float*> SyncStep::terms_of(const Group& group, Range of_g) {
  std::vector<const float*> terms;
  for (const Rank r : terms_) {
    const float* const g =
        r == group.rank ? replica_.g().all().data().data() : floats_of(gradients_there_[r.value()]);
    terms.push_back(g == nullptr ? nullptr : g + of_g.at.value());
  }
  return terms;
}

void SyncStep::let_go() {
  gradients_there_.clear();
  parts_there_.clear();
}

// ---- The end of a step

Task<void> SyncStep::finish(const Group& group) {
  if (!in_place_) {
    replica_.exchange_copies();
  } else if (updater_ == Updater::Owners && group.size() > 1) {
    co_await finish_parts(group);
  } else {
    co_await apply(replica_.g().all());
  }
  if (!rest_next_.empty()) std::ranges::copy(rest_next_, replica_.buffers().data().begin());
  rest_kept_ = false;  // It was that of the step before.
  const Duration after = std::max(Duration(0), node_.env.now() - begun_ - report_.compute);
  (group.size() == 1 ? report_.update : report_.wait) = after;
}

// The own part is updated here; those of the others are seen or copied where they are, or made here
// too. Of two workers each makes both parts of a short model: that passes over no more memory than
// to copy one, and nobody waits for it. They go through them in the same order, so that one finds
// in the cache which gradients the other has just read, and begin with what backward has made last.
Task<void> SyncStep::finish_parts(const Group& group) {
  if (added_late_ && group.size() == 2 && !parts_.held()) {
    const std::vector<const float*> terms = terms_of(group, replica_.g().all());
    co_await apply(replica_.g().all(), terms);
    co_return;
  }
  co_await apply_part(group, group.rank);
  parts_there_.clear();
  parts_there_.resize(group.size());
  for (auto& there : parts_there_) there.resize(arrays_copied() + (parts_.held() ? 1 : 0));
  parts_taken_.assign(group.size(), false);
  parts_taken_[group.rank.value()] = true;
  co_await share_parts(group);
  bool whole = false;
  for (std::uint32_t r = 0; r < group.size(); ++r) {
    if (!parts_taken_[r]) co_await take_part(group, Rank(r));
    if (!parts_taken_[r]) whole = true;
  }
  if (!parts_.parameters_held()) co_return;
  // What was made here instead of its owner is in the whole.
  if (whole) {
    co_await parts_.gather();
  } else {
    co_await parts_.see();
  }
}

// An owner that is late or lost is not waited for: what its part is made of is here.
Task<void> SyncStep::share_parts(const Group& group) {
  for (unsigned a = 0; a < arrays_copied(); ++a)
    lend(group, state_lent_, array_part(part(group, group.rank), a, false), parts_operation(a));
  if (parts_.held()) lend(group, parts_.lent(), parts_.now().all, parts_operation(1), true);
  bool lost = false;
  try {
    auto first = co_await race(node_.membership.after(group.view->generation), hear_parts(group));
    lost = first.index() == 0;
  } catch (const PeerLost&) {
    lost = true;
  }
  if (lost) node_.env.probe("sync: a step was finished without its owners");
}

Task<void> SyncStep::hear_parts(const Group& group) {
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    for (std::uint32_t r = 0; r < group.size(); ++r)
      if (Rank(r) != group.rank) tasks.spawn(hear_part(group, Rank(r)));
    co_return;
  });
}

// Copied while others are still to come. If one is lost meanwhile, it is copied again.
Task<void> SyncStep::hear_part(const Group& group, Rank owner) {
  std::vector<std::optional<Reading>>& there = parts_there_[owner.value()];
  for (unsigned a = 0; a < there.size(); ++a) {
    const bool copied = a < arrays_copied();
    const Bytes size = copied ? part(group, owner).bytes().size : parts_.size_of(owner);
    const Tag tag = group.tag(parts_operation(copied ? a : 1), 0);
    co_await read_there(group, owner, tag, size, there[a]);
  }
  co_await take_part(group, owner);
}

Task<void> SyncStep::take_part(const Group& group, Rank owner) {
  std::vector<std::optional<Reading>>& there = parts_there_[owner.value()];
  const bool all = std::ranges::all_of(there, [](const auto& array) { return array.has_value(); });
  if (!all) {
    if (parts_.held()) co_await parts_.take_over(owner);
    co_await apply_part(group, owner);
    co_return;
  }
  const Range g = part(group, owner);
  for (unsigned a = 0; a < arrays_copied(); ++a)
    co_await copy(node_.env, array_part(g, a, false), floats_of(there[a]));
  if (parts_.held()) co_await parts_.took(owner, *there.back());
  parts_taken_[owner.value()] = true;
}

std::uint64_t SyncStep::parts_operation(unsigned array) const {
  return shoal::operation(operations::kParts, replica_.step, array);
}

// ---- The update

UpdateStep SyncStep::update_step() const {
  const double samples =
      options_.recipe.epoch_fraction * static_cast<double>(replica_.ledger.samples_per_epoch());
  const Epochs epochs{static_cast<std::uint64_t>(std::ceil(samples)), options_.batch,
                      options_.growth};
  const double eta = shoal::eta(options_.schedule, options_.eta, epochs.place_of(replica_.step),
                                epochs.horizon(options_.steps), options_.workers);
  return {eta, replica_.step.value() + 1, static_cast<double>(batch_)};
}

UpdateTarget SyncStep::shard_of(Range own) {
  const unsigned k = slots(options_.rule);
  const auto of_slots = [&](Range all) {
    return k == 0 ? all : all.slice(own.at, replica_.N * (k - 1) + own.n);
  };
  const bool next = !in_place_;
  UpdateTarget shard{(next ? replica_.next_w() : replica_.whole_w()).slice(own.at, own.n),
                     own,
                     of_slots(next ? replica_.next_slots() : replica_.slots()),
                     own.at,
                     segments_,
                     replica_.N};
  if (next) {
    shard.before_w = replica_.w().slice(own.at, own.n);
    shard.before_slots = of_slots(replica_.slots());
  }
  shard.aside = goes_early_;
  return shard;
}

Task<void> SyncStep::apply(Range own, std::span<const float* const> terms, bool held) {
  while (!replica_.valid) co_await state_here_.wait();
  if (held) co_await parts_.prepare();
  if (own.n == Elements(0)) co_return;
  UpdateTarget shard = shard_of(own);
  shard.terms = terms;
  if (held) {
    const ShardedState::Part now = parts_.now();
    const ShardedState::Part next = parts_.next();
    shard.before_w = parts_.parameters_held() ? now.w : shard.w;
    if (parts_.parameters_held()) shard.w = next.w;
    shard.before_slots = now.slots;
    shard.slots = next.slots;
    shard.stride = own.n;
  }
  co_await shoal::apply(node_.env, options_.rule, update_step(), shard, total_);
}

Task<void> SyncStep::apply_part(const Group& group, Rank owner) {
  const Range own = part(group, owner);
  std::vector<const float*> terms;
  if (added_late_) {
    terms = terms_of(group, own);
  } else {
    terms = {owner == group.rank ? own.data().data() : floats_of(gradients_there_[owner.value()])};
  }
  const bool held = parts_.held() && owner == group.rank;
  co_await apply(own, terms, held);
  if (held) parts_.stepped();
}

// Sums of squares over all parameters, from those over each member's part.
Task<Sums> SyncStep::norms(const Group& group) {
  while (!replica_.valid) co_await state_here_.wait();
  const std::uint64_t P = group.size();
  const Updater updater = updater_;
  const bool whole =
      options_.recipe.shards > 0 || updater == Updater::Everyone || updater == Updater::Apart;
  const bool shared = !whole && P > 1;
  Sums total;
  for (unsigned round = 0; round < rounds(options_.rule); ++round) {
    Sums own;
    for (const Ready& bucket : buckets_) {
      const Range measured =
          whole ? replica_.g().range(bucket.at, bucket.n) : own_part(group, bucket);
      const Sums sums = co_await measure(node_.env, options_.rule, update_step(),
                                         shard_of(measured), round, total);
      own += sums;
    }
    if (!shared) {
      total += own;
      continue;
    }
    const std::span<const double> mine = own.values;
    const std::uint64_t number = shoal::operation(operations::kNorms, replica_.step, round);
    const std::vector<double> all = co_await sums_.of_all(group, mine, number);
    for (auto at = all.begin(); at != all.end(); at += std::ssize(mine)) {
      Sums theirs;
      theirs.values.assign(at, at + std::ssize(mine));
      total += theirs;
    }
  }
  co_return total;
}

}  // namespace shoal
