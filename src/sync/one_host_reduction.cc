#include "sync/one_host_reduction.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/error.h"
#include "runtime/slices.h"
#include "runtime/task_group.h"
#include "sync/operations.h"

namespace shoal {
namespace {

// A part that stays with its owner, and that all read, begins at a page.
constexpr Elements kPageElements{4096 / sizeof(float)};

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

void OneHostReduction::begin_view(const View& view, Rank own) {
  const bool norms = update_.needs_norms();
  sums_in_update_ = context_.recipe.shards == 0 && !norms;
  // Forward passes write running statistics, which follow the parameters in memory.
  const bool parameters_stay = sums_in_update_ && replica_.buffers().n == Elements(0) &&
                               replica_.g().bytes().size >= context_.tuning.hold_parameters;
  // Two members that both compute the whole update have all slots anyway; norms may need them
  // whole.
  const bool slots_stay =
      view.size() > (sums_in_update_ ? 2 : 1) && update_.slots_each() > 0 && !norms;
  update_.begin_view(false, false);
  parts_.begin_view(view.size(), parameters_stay ? kPageElements : Elements(1));
  held_.begin_view(parameters_stay || slots_stay ? parts_.cuts() : Cuts(), own, parameters_stay);
}

// Others may still read the gradient of the last step; the one before it is free.
void OneHostReduction::begin_step() {
  if (!sums_in_update_) return;
  replica_.exchange_gradients();
  lending_.next_gradient();
}

// ---- The gradients

Task<void> OneHostReduction::reduce(const Group& group, const Ready& bucket) {
  if (sums_in_update_) co_return;  // sum_and_update
  co_await parts_.reduce_scatter(group, bucket);
}

Range OneHostReduction::summed(const Group& group, const Ready& bucket) {
  return sums_whole() ? replica_.g().range(bucket.at, bucket.n) : parts_.own_part(group, bucket);
}

// The whole gradient of a member whose gradient counts, or the sum of its part.
Range OneHostReduction::lent_by(Rank r) {
  if (!sums_in_update_) return parts_.of(r);
  const bool counts = std::ranges::find(dealing_.terms(), r) != dealing_.terms().end();
  return replica_.g().range(Elements(0), counts ? replica_.N : Elements(0));
}

// Also waits until the others have read the memory that finish() overwrites.
Task<void> OneHostReduction::hold(const Group& group) {
  co_await lend_and_read_gradients(group);
  if (!held_.held()) co_return;
  co_await lending_.returned(held_.lent_before());
  if (!held_.prepared()) co_await lending_.returned(held_.lent());
}

Task<void> OneHostReduction::lend_and_read_gradients(const Group& group) {
  gradients_.clear();
  gradients_.resize(group.size());
  const std::uint64_t number = operation(operations::kGradients, replica_.step);
  const Tag tag = group.tag(number, 0);
  const Range own = lent_by(group.rank);
  if (own.n > Elements(0)) lending_.lend(group, lending_.gradient(), own, number);
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    for (std::uint32_t r = 0; r < group.size(); ++r) {
      const Range there = lent_by(Rank(r));
      if (Rank(r) != group.rank && there.n > Elements(0))
        tasks.spawn(read_there(group, Rank(r), tag, there.bytes().size, gradients_[r]));
    }
    co_return;
  });
}

// The addresses of these elements in the gradients that count, in the order of addition.
std::vector<const float*> OneHostReduction::terms_of(const Group& group, Range of_g) {
  std::vector<const float*> terms;
  for (const Rank r : dealing_.terms()) {
    const float* const g =
        r == group.rank ? replica_.g().all().data().data() : floats_of(gradients_[r.value()]);
    terms.push_back(g == nullptr ? nullptr : g + of_g.at.value());
  }
  return terms;
}

void OneHostReduction::let_go() {
  gradients_.clear();
  arrays_.clear();
}

// ---- The parts of the state

// Two members that both compute the whole update process it in the same order, so that one finds in
// the cache the gradients that the other has just read. They begin with the last results of the
// backward pass.
Task<void> OneHostReduction::finish(const Group& group) {
  if (sums_in_update_ && group.size() == 2 && !held_.held()) {
    const std::vector<const float*> terms = terms_of(group, replica_.g().all());
    co_await update_.apply(replica_.g().all(), terms);
    co_return;
  }
  co_await sum_and_update(group, group.rank);
  arrays_.clear();
  arrays_.resize(group.size());
  for (Readings& arrays : arrays_) arrays.resize(arrays_copied() + (held_.held() ? 1 : 0));
  taken_.assign(group.size(), false);
  taken_[group.rank.value()] = true;
  co_await exchange_parts(group);
  bool made_here = false;
  for (std::uint32_t r = 0; r < group.size(); ++r) {
    if (!taken_[r]) co_await take_part(group, Rank(r));
    if (!taken_[r]) made_here = true;
  }
  if (!held_.parameters_held()) co_return;
  // A part that was updated here instead of at its owner is in the whole state.
  if (made_here) {
    co_await held_.gather();
  } else {
    co_await held_.see();
  }
}

// The part of this owner: the sum of the gradients that count, and the update by it, in one pass.
Task<void> OneHostReduction::sum_and_update(const Group& group, Rank owner) {
  const Range own = parts_.of(owner);
  std::vector<const float*> terms;
  if (sums_in_update_) {
    terms = terms_of(group, own);
  } else {
    terms = {owner == group.rank ? own.data().data() : floats_of(gradients_[owner.value()])};
  }
  if (!held_.held() || owner != group.rank) {
    co_await update_.apply(own, terms);
    co_return;
  }
  co_await update_.apply_held(own, terms, held_);
  held_.stepped();
}

// Does not wait for an owner that is late or lost: the gradients for its part are in memory here.
Task<void> OneHostReduction::exchange_parts(const Group& group) {
  for (unsigned a = 0; a < arrays_copied(); ++a)
    lending_.lend(group, lending_.state(), update_.array(parts_.of(group.rank), a),
                  part_operation(a));
  if (held_.held())
    lending_.lend(group, held_.lent(), held_.now().all, part_operation(1), Reads::UntilNextStep);
  bool lost = false;
  try {
    auto first = co_await race(node_.membership.after(group.view->generation), read_parts(group));
    lost = first.index() == 0;
  } catch (const PeerLost&) {
    lost = true;
  }
  if (lost) node_.env.probe("sync: a step was finished without its owners");
}

Task<void> OneHostReduction::read_parts(const Group& group) {
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    for (std::uint32_t r = 0; r < group.size(); ++r)
      if (Rank(r) != group.rank) tasks.spawn(read_part(group, Rank(r)));
    co_return;
  });
}

// Copies parts as they arrive. If an owner is lost meanwhile, its part is copied again.
Task<void> OneHostReduction::read_part(const Group& group, Rank owner) {
  Readings& arrays = arrays_[owner.value()];
  for (unsigned a = 0; a < arrays.size(); ++a) {
    const bool copied = a < arrays_copied();
    const Bytes size = copied ? parts_.of(owner).bytes().size : held_.size_of(owner);
    const Tag tag = group.tag(part_operation(copied ? a : 1), 0);
    co_await read_there(group, owner, tag, size, arrays[a]);
  }
  co_await take_part(group, owner);
}

Task<void> OneHostReduction::take_part(const Group& group, Rank owner) {
  Readings& arrays = arrays_[owner.value()];
  const bool all = std::ranges::all_of(arrays, [](const auto& array) { return array.has_value(); });
  if (!all) {
    if (held_.held()) co_await held_.take_over(owner);
    co_await sum_and_update(group, owner);
    co_return;
  }
  const Range g = parts_.of(owner);
  for (unsigned a = 0; a < arrays_copied(); ++a)
    co_await copy(node_.env, update_.array(g, a), floats_of(arrays[a]));
  if (held_.held()) co_await held_.took(owner, *arrays.back());
  taken_[owner.value()] = true;
}

std::uint64_t OneHostReduction::part_operation(unsigned array) const {
  return operation(operations::kParts, replica_.step, array);
}

unsigned OneHostReduction::arrays_copied() const {
  if (held_.parameters_held()) return 0;
  return 1 + (held_.held() ? 0 : update_.slots_each());
}

}  // namespace shoal
