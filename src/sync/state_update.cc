#include "sync/state_update.h"

#include <cmath>
#include <utility>

#include "replica/segments.h"
#include "sync/operations.h"

namespace shoal {

StateUpdate::StateUpdate(Node& node, const Learner& learner, Replica& replica,
                         const SyncContext& context, const Dealing& dealing)
    : node_(node),
      replica_(replica),
      context_(context),
      dealing_(dealing),
      segments_(segments_of(learner.layout())) {}

UpdateStep StateUpdate::step() const {
  const double samples =
      context_.recipe.epoch_fraction * static_cast<double>(replica_.ledger.samples_per_epoch());
  const Epochs epochs{static_cast<std::uint64_t>(std::ceil(samples)), context_.task.all_batches(),
                      context_.task.growth};
  const double eta =
      shoal::eta(context_.task.schedule, context_.task.eta, epochs.place_of(replica_.step),
                 epochs.horizon(context_.task.steps), context_.task.workers);
  return {eta, replica_.step.value() + 1, static_cast<double>(dealing_.batch())};
}

Range StateUpdate::array(const Range& of_g, unsigned array) {
  if (array == 0) return replica_.whole_w().slice(of_g.at, of_g.n);
  return replica_.slots().slice(replica_.N * (array - 1) + of_g.at, of_g.n);
}

Range StateUpdate::next_array(const Range& of_g, unsigned array) {
  if (array == 0) return replica_.next_w().slice(of_g.at, of_g.n);
  return replica_.next_slots().slice(replica_.N * (array - 1) + of_g.at, of_g.n);
}

UpdateTarget StateUpdate::target_of(Range of_g) {
  const unsigned k = slots_each();
  const auto of_slots = [&](Range all) {
    return k == 0 ? all : all.slice(of_g.at, replica_.N * (k - 1) + of_g.n);
  };
  UpdateTarget target{(copies_ ? replica_.next_w() : replica_.whole_w()).slice(of_g.at, of_g.n),
                      of_g,
                      of_slots(copies_ ? replica_.next_slots() : replica_.slots()),
                      of_g.at,
                      segments_,
                      replica_.N};
  if (copies_) {
    target.before_w = replica_.w().slice(of_g.at, of_g.n);
    target.before_slots = of_slots(replica_.slots());
  }
  target.aside = aside_;
  return target;
}

Task<void> StateUpdate::apply(Range of_g, std::span<const float* const> terms) {
  while (!replica_.valid) co_await state_here_.wait();
  if (of_g.n == Elements(0)) co_return;
  UpdateTarget target = target_of(of_g);
  target.terms = terms;
  co_await shoal::apply(node_.env, context_.rule, step(), target, norms_);
}

Task<void> StateUpdate::apply_held(Range of_g, std::span<const float* const> terms,
                                   ShardedState& held) {
  while (!replica_.valid) co_await state_here_.wait();
  co_await held.prepare();
  if (of_g.n == Elements(0)) co_return;
  UpdateTarget target = target_of(of_g);
  target.terms = terms;
  const ShardedState::Part now = held.now();
  const ShardedState::Part next = held.next();
  target.before_w = held.parameters_held() ? now.w : target.w;
  if (held.parameters_held()) target.w = next.w;
  target.before_slots = now.slots;
  target.slots = next.slots;
  target.stride = of_g.n;
  co_await shoal::apply(node_.env, context_.rule, step(), target, norms_);
}

Task<void> StateUpdate::measure(const Group& group, std::vector<Range> of_g, bool shared) {
  while (!replica_.valid) co_await state_here_.wait();
  Sums total;
  for (unsigned round = 0; round < rounds(context_.rule); ++round) {
    Sums own;
    for (const Range& range : of_g) {
      const Sums sums =
          co_await shoal::measure(node_.env, context_.rule, step(), target_of(range), round, total);
      own += sums;
    }
    if (!shared) {
      total += own;
      continue;
    }
    const std::span<const double> mine = own.values;
    const std::uint64_t number = operation(operations::kNorms, replica_.step, round);
    const std::vector<double> all = co_await gathering_.of_all(group, mine, number);
    for (auto at = all.begin(); at != all.end(); at += std::ssize(mine)) {
      Sums theirs;
      theirs.values.assign(at, at + std::ssize(mine));
      total += theirs;
    }
  }
  norms_ = std::move(total);
}

}  // namespace shoal
