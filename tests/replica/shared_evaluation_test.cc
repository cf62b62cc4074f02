#include "replica/shared_evaluation.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>

#include "base/error.h"
#include "runtime/task_group.h"
#include "sim/world.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

constexpr GroupId kGroup{1};
constexpr std::uint64_t kHeldOut = 1001;

// Takes 10 ms for every call, and counts them.
class SlowLearner final : public Learner {
 public:
  SlowLearner(std::uint64_t& calls) : layout_(Layout::plain(Elements(3))), calls_(calls) {}
  const Layout& layout() const override { return layout_; }
  Substance substance() const override { return Substance::Real; }
  void initialize(Range) const override {}
  Task<void> gradient(Env&, Range, GradientTarget, Portion, Channel<Ready>&, Score&) override {
    co_return;
  }
  Task<Score> evaluate(Env& env, Range, std::uint64_t from, std::uint64_t to) override {
    co_await env.sleep(10ms);
    ++calls_;
    Score score;
    for (std::uint64_t i = from; i < to; ++i) score.loss += 1.0 / static_cast<double>(i + 1);
    score.samples = to - from;
    co_return score;
  }
  std::uint64_t held_out() const override { return kHeldOut; }

 private:
  Layout layout_;
  std::uint64_t& calls_;
};

struct Told {
  std::map<NodeId, Score> totals;
  std::map<NodeId, std::uint64_t> calls;
};

Task<bool> in_view(Node& node, SharedEvaluation& evaluation, ViewPtr view, Score& total) {
  const Group group(node, kGroup, view);
  const auto run = [&]() -> Task<void> { total = co_await evaluation.run(group, 0); };
  try {
    auto first = co_await race(node.membership.after(view->generation), run());
    co_return first.index() == 1;
  } catch (const PeerLost&) {
    co_return false;
  }
}

Task<void> evaluate_through_views(Node& node, Told& told) {
  SlowLearner learner(told.calls[node.id]);
  Replica replica(node.endpoint, learner, Ledger(Seed(1), 10));
  SharedEvaluation evaluation(learner, replica);
  Generation last;
  bool done = false;
  while (!done) {
    ViewPtr view = co_await node.membership.after(last);
    last = view->generation;
    co_await node.endpoint.retire(kGroup, last.previous());
    Score total;
    done = co_await in_view(node, evaluation, view, total);
    if (done) told.totals[node.id] = total;
  }
  co_await node.env.sleep(1s);  // so that no node's end is a new view for the others
  co_await node.endpoint.retire(kGroup, last);
}

Told evaluated(std::size_t P, Time kill_at) {
  Told told;
  World world(Cluster::uniform(P, {.latency = 1ms, .bytes_per_s = 1e8}), {.seed = Seed(4)});
  if (kill_at > Time{}) world.at(kill_at, [&] { world.kill(NodeId(0), false); });
  const Outcome outcome = world.run([&](Node& node) { return evaluate_through_views(node, told); });
  EXPECT_TRUE(outcome.finished) << outcome.waiting_for;
  EXPECT_TRUE(outcome.errors.empty());
  return told;
}

TEST(SharedEvaluation, HasTheSameBitsForAnyNumberOfMembers) {
  const Score alone = evaluated(1, Time{}).totals[NodeId(0)];
  EXPECT_EQ(alone.samples, kHeldOut);
  for (const std::size_t P : {2U, 3U, 7U, 40U}) {
    const Told told = evaluated(P, Time{});
    EXPECT_EQ(told.totals.size(), P);
    for (const auto& [node, total] : told.totals) EXPECT_EQ(total, alone) << P << " members";
    std::uint64_t calls = 0;
    for (const auto& [node, count] : told.calls) calls += count;
    EXPECT_EQ(calls, 32U) << "each block once";
  }
}

// A regression: while workers were lost every two seconds, an evaluation of three never ended.
TEST(SharedEvaluation, GoesOnAfterALossWithWhatNobodyKnows) {
  Told told = evaluated(3, Time(85ms));
  ASSERT_EQ(told.totals.size(), 2U);
  const Score alone = evaluated(1, Time{}).totals[NodeId(0)];
  for (const auto& [node, total] : told.totals) EXPECT_EQ(total, alone);
  EXPECT_GT(told.calls[NodeId(0)], 3U) << "it was killed before it knew anything";
  EXPECT_EQ(told.calls[NodeId(1)] + told.calls[NodeId(2)], 32U) << "a block was evaluated twice";
}

}  // namespace
}  // namespace shoal
