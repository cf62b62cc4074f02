#include "sync/local_gradient.h"

#include <algorithm>
#include <utility>

#include "replica/shard_sums.h"
#include "sync/operations.h"

namespace shoal {

void LocalGradient::begin_step(const Group& group) {
  in_pass_.reset();
  if (context_.recipe.batch_norm.over == BatchNorm::Over::Workers && group.size() > 1)
    in_pass_.emplace(group, gathering_, operation(operations::kInPass, replica_.step));
}

void LocalGradient::serve(TaskGroup& tasks) {
  if (in_pass_) tasks.spawn(in_pass_->serve());
}

Task<void> LocalGradient::compute(const Group& group, Channel<Ready>& ready, Taken taken,
                                  StepReport& report) {
  const Time begin = node_.env.now();
  const MicroShard* const own = dealing_.micro_shard_of(group.rank);
  const std::uint64_t n = own == nullptr ? 0 : own->samples();
  InPassReducer* const meeting = in_pass_ ? &*in_pass_ : nullptr;
  if (n == 0) {
    Portion nothing{replica_.ledger.epoch(), replica_.step, group.rank.value(), {}};
    const GradientTarget target{replica_.g().all(), encoded_.sink(group, 1), meeting};
    co_await learner_.gradient(node_.env, replica_.w(), target, std::move(nothing), ready,
                               report.own);
    if (in_pass_) in_pass_->close();
    co_return;
  }
  GradientAdder adder(replica_.g().all());
  const std::size_t passes = std::min<std::size_t>(context_.recipe.accumulate, n);
  for (std::size_t pass = 0; pass < passes; ++pass) {
    GradientTarget target{replica_.g().all(), encoded_.sink(group, passes), meeting};
    if (pass > 0) target.sink = &adder;
    Channel<Ready> unheard;
    const bool last = pass + 1 == passes;
    target.buckets = last ? taken : Taken::AtTheEnd;
    Channel<Ready>& heard = last ? ready : unheard;
    Portion portion = dealing_.portion_of(*own, pass, passes);
    co_await learner_.gradient(node_.env, replica_.w(), target, std::move(portion), heard,
                               report.own);
  }
  if (in_pass_) in_pass_->close();
  buffers_.take();
  report.compute = node_.env.now() - begin;
}

}  // namespace shoal
