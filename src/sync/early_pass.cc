#include "sync/early_pass.h"

#include <utility>

namespace shoal {

void EarlyPass::begin_view() {
  next_.reset();
  taken_.reset();
}

void EarlyPass::begin(const Group& group, std::shared_ptr<ParameterGate> gate) {
  if (gate == nullptr || !replica_.valid) return;
  std::optional<Portion> portion = dealing_.certain_portion(*group.view, group.rank);
  if (!portion) return;
  next_ = std::make_unique<Pass>();
  next_->portion = std::move(*portion);
  next_->gate = std::move(gate);
  next_->w = replica_.next_w();
  next_->g = replica_.scratch().all();
  lending_.spawn(run(*next_));
}

// An error is kept for the step that takes the pass.
Task<void> EarlyPass::run(Pass& pass) {
  pass.begun = node_.env.now();
  try {
    GradientTarget target{pass.g};
    if (learner_.waits_at_gates()) {
      target.gate = pass.gate.get();
    } else {
      co_await pass.gate->until_all(node_.env);
    }
    Portion portion = pass.portion;
    co_await learner_.gradient(node_.env, pass.w, target, std::move(portion), pass.ready,
                               pass.score);
  } catch (...) {
    pass.error = std::current_exception();
  }
  pass.ended_at = node_.env.now();
  pass.ended = true;
  pass.over.notify_all();
}

Task<void> EarlyPass::end_of(Pass& pass) {
  while (!pass.ended) co_await pass.over.wait();
}

Task<void> EarlyPass::take(const Group& group) {
  taken_ = std::move(next_);
  if (taken_ == nullptr) co_return;
  const MicroShard* const own = dealing_.micro_shard_of(group.rank);
  const Portion& begun = taken_->portion;
  const bool same = own != nullptr && begun.step == replica_.step &&
                    begun.epoch == replica_.ledger.epoch() && begun.shard == own->number &&
                    begun.samples == dealing_.samples_of(*own);
  if (same) {
    node_.env.probe("sync: a pass was begun before its step");
    replica_.exchange_gradients();
    co_return;
  }
  node_.env.probe("sync: a pass was begun for nothing");
  co_await end_of(*taken_);
  taken_.reset();
}

Task<void> EarlyPass::follow(StepReport& report) {
  co_await end_of(*taken_);
  if (taken_->error) std::rethrow_exception(taken_->error);
  report.own = taken_->score;
  report.begun = taken_->begun;
  report.computed = taken_->ended_at;
  report.compute = taken_->ended_at - taken_->begun - taken_->gate->time_waited();
}

void EarlyPass::refuse() {
  for (const Pass* pass : {next_.get(), taken_.get()})
    if (pass != nullptr) pass->gate->refuse();
}

}  // namespace shoal
