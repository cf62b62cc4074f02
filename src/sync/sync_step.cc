#include "sync/sync_step.h"

#include <algorithm>
#include <utility>

#include "sync/operations.h"

namespace shoal {

SyncStep::SyncStep(Node& node, Learner& learner, Replica& replica, const SyncContext& context)
    : node_(node),
      learner_(learner),
      replica_(replica),
      context_(context),
      dealing_(replica, context),
      model_buffers_(replica, learner.layout(), dealing_),
      held_(node, replica, slots(context.rule), learner.substance()),
      update_(node, learner, replica, context, dealing_),
      encoded_(node, learner, replica, context, dealing_),
      gradient_(node, learner, replica, context, dealing_, model_buffers_, encoded_),
      early_(node, learner, replica, dealing_, lending_),
      shards_(node, learner, replica, context, dealing_, model_buffers_),
      stragglers_(node, learner, replica, context, dealing_, model_buffers_),
      choice_(node, learner, replica, context, encoded_),
      factors_(node, learner, replica, context, dealing_, encoded_),
      buckets_(node, replica, context, factors_, update_),
      reductions_{.parts = {replica, context, dealing_, shards_},
                  .everyone = {replica, update_, choice_, encoded_, factors_},
                  .priority = {node, learner, replica, context, update_},
                  .owners = {replica, context, update_, reductions_.parts},
                  .one_host = {node, replica, context, dealing_, update_, reductions_.parts, held_,
                               lending_},
                  .root = {replica, update_},
                  .apart = {replica, update_}} {}

// ---- A view

void SyncStep::begin_lending(TaskGroup& tasks) {
  early_.begin_view();
  lending_.begin_view(tasks);
  held_.lent_anew();
}

Task<std::string> SyncStep::choose_exchange(const Group& group, bool anew) {
  return choice_.choose(group, in_chunks(), anew);
}

void SyncStep::begin_view(const View& view, std::vector<bool> guests) {
  dealing_.begin_view(view, std::move(guests));
  own_note_ = StepNote();
  reduction_ =
      &reductions_.of(choice_.updater(), context_.recipe.order == SendOrder::Priority, view);
  reduction_->begin_view(view, *view.rank_of(node_.id));
  buckets_.begin_view(context_.tuning.tune_buckets > Bytes(0) && reduction_->any_buckets() &&
                      context_.recipe.shards == 0 && overlaps(context_.recipe) && view.size() > 1);
}

void SyncStep::state_arrived() {
  model_buffers_.state_arrived();
  update_.state_arrived();
}

// ---- A step

const std::vector<MicroShard>& SyncStep::deal(const View& view) {
  dealing_.deal(view);
  return dealing_.micro_shards();
}

Task<void> SyncStep::prefetch(const Group& group) {
  const InStep& recipe = context_.recipe;
  const bool in_one_go = recipe.accumulate == 1 && recipe.shards == 0 && waits_for_all(recipe);
  if (!in_one_go) co_return;
  std::optional<Portion> next = dealing_.next_portion(*group.view, group.rank);
  if (next) co_await learner_.prefetch(node_.env, std::move(*next));
}

void SyncStep::begin_report() {
  report_ = StepReport();
  report_.step = replica_.step;
  report_.epoch = dealing_.micro_shards().front().shares.front().epoch;
  report_.eta = update_.step().eta;
}

bool SyncStep::computes_whole() const {
  return context_.recipe.shards > 0 || !waits_for_all(context_.recipe);
}

Task<void> SyncStep::prepare(const Group& group) {
  begin_report();
  buckets_.begin_step();
  model_buffers_.keep();
  update_.begin_step();
  const Time begin = node_.env.now();
  reduction_->begin_step();
  co_await lending_.returned(lending_.gradient());
  encoded_.begin_step(group);
  co_await early_.take(group);
  if (context_.recipe.shards > 0) {
    co_await shards_.compute(group, report_);
  } else if (!waits_for_all(context_.recipe)) {
    co_await stragglers_.compute(group, report_);
  }
  if (computes_whole()) buckets_.cut_whole();
  gradient_.begin_step(group);
  Channel<Ready> ready;
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    if (!computes_whole()) {
      gradient_.serve(tasks);
      tasks.spawn(compute(group, ready));
      co_await reduce_as_ready(group, early_.ready_or(ready), tasks);
    }
    if (computes_whole() || (!overlaps(context_.recipe) && !in_chunks()))
      buckets_.reduce_all(group, *reduction_, tasks, report_);
  });
  if (update_.needs_norms()) co_await apply_with_norms(group);
  co_await model_buffers_.average(group);
  co_await reduction_->hold(group);
  co_await lending_.returned(lending_.state());
  begun_ = begin;
}

// This worker's gradient; then the early pass of the next step begins, if there is one.
Task<void> SyncStep::compute(const Group& group, Channel<Ready>& ready) {
  if (early_.taken()) {
    co_await early_.follow(report_);
  } else {
    const Taken taken = reduction_->takes_buckets() ? Taken::AtOnce : Taken::AtTheEnd;
    co_await gradient_.compute(group, ready, taken, report_);
  }
  if (in_chunks()) early_.begin(group, reductions_.priority.gate());
}

Task<void> SyncStep::reduce_as_ready(const Group& group, Channel<Ready>& ready, TaskGroup& tasks) {
  if (in_chunks())
    return reductions_.priority.reduce_as_ready(group, ready, buckets_.all(), tasks, report_);
  return buckets_.reduce_as_ready(group, *reduction_, ready, tasks, report_);
}

// Norms need all sums, so no part of a copy could be updated before.
Task<void> SyncStep::apply_with_norms(const Group& group) {
  std::vector<Range> summed;
  for (const Ready& bucket : buckets_.all()) summed.push_back(reduction_->summed(group, bucket));
  const bool shared = !reduction_->sums_whole() && group.size() > 1;
  co_await update_.measure(group, std::move(summed), shared);
  if (!reduction_->copies_state()) co_return;
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    for (const Ready& bucket : buckets_.all()) {
      co_await reduction_->apply(group, bucket);
      tasks.spawn(reduction_->spread(group, bucket));
    }
  });
}

Task<void> SyncStep::tell(const Group& group) {
  const std::vector<StepNote> notes =
      co_await notes_.of_all(group, own_note_, operation(operations::kNotes, replica_.step));
  std::uint64_t longest = 0;
  for (const StepNote& note : notes) longest = std::max(longest, note.step_ns);
  if (longest > 0) buckets_.took(Duration(longest));
  if (longest > 0) choice_.took(Duration(longest));
  for (std::uint32_t r = 0; r < notes.size(); ++r)
    dealing_.measured(Rank(r), notes[r].samples, notes[r].compute_ns);
}

Task<void> SyncStep::finish(const Group& group) {
  co_await reduction_->finish(group);
  model_buffers_.finish();
  const Duration after = std::max(Duration(0), node_.env.now() - begun_ - report_.compute);
  (group.size() == 1 ? report_.update : report_.wait) = after;
}

void SyncStep::give_up() {
  model_buffers_.give_up();
  early_.refuse();
}

StepReport SyncStep::commit() {
  encoded_.commit();
  dealing_.settle();
  ++replica_.step;
  report_.samples = dealing_.batch();
  own_note_.samples = report_.own.samples;
  own_note_.compute_ns = static_cast<std::uint64_t>(report_.compute.count());
  own_note_.step_ns = static_cast<std::uint64_t>((node_.env.now() - begun_).count());
  return report_;
}

}  // namespace shoal
