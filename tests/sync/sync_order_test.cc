// The sending order (`--order`): every order gives the same bits, also through losses. Its purpose:
// the next pass begins while the previous step is still exchanged.
#include <gtest/gtest.h>

#include <algorithm>

#include "learner/architectures.h"
#include "learner/phantom.h"
#include "sim/words.h"
#include "sim/world.h"
#include "sync/send_scheduler.h"
#include "sync/sync_job.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

using By = SendOrder;

InStep recipe_of(By order) { return {.exchange = Exchange::Direct, .order = order}; }

// ---- Turns

struct Members {
  std::vector<std::uint64_t> begun;
  Task<void> send(SendScheduler& turns, SendScheduler::Ticket& ticket, Env& env) {
    co_await turns.turn(ticket);
    begun.push_back(ticket.place);
    co_await env.sleep(10ms);
    turns.leave();
  }
};

std::vector<std::uint64_t> begun_in(std::vector<std::uint64_t> places, std::uint64_t late,
                                    std::optional<std::size_t> heard) {
  World world(Cluster::uniform(1, {}), {.seed = Seed(1)});
  Members members;
  world.run([&](Node& node) -> Task<void> {
    SendScheduler turns(2);
    std::deque<SendScheduler::Ticket> tickets;
    for (const std::uint64_t place : places) tickets.emplace_back().place = place;
    SendScheduler::Ticket overtaking;
    overtaking.place = late;
    co_await with_group([&](TaskGroup& tasks) -> Task<> {
      for (SendScheduler::Ticket& ticket : tickets)
        tasks.spawn(members.send(turns, ticket, node.env));
      co_await node.env.sleep(5ms);
      tasks.spawn(members.send(turns, overtaking, node.env));
      co_await node.env.sleep(1ms);
      if (heard) turns.heard(tickets[*heard]);
    });
    EXPECT_EQ(turns.under_way(), 0U);
  });
  return members.begun;
}

TEST(SendScheduler, TwoAreUnderWayAndWhatIsNeededFirstOvertakesWhatWaits) {
  EXPECT_EQ(begun_in({5, 6, 7, 8}, 1, {}), (std::vector<std::uint64_t>{5, 6, 1, 7, 8}));
}

TEST(SendScheduler, WhatAnotherHasBegunIsBegunAtOnce) {
  EXPECT_EQ(begun_in({5, 6, 7, 8}, 1, 3), (std::vector<std::uint64_t>{5, 6, 8, 1, 7}));
}

// ---- Results

class SyncOrder : public testing::Test {
 protected:
  SyncJob job;

  static Cluster cluster(std::size_t P) {
    Cluster c = Cluster::uniform(P, {.latency = 100us, .bytes_per_s = 1e6});
    c.ns_per_element = {1e4, 4e4, 1e2, 1e2, 0, 0, 0, 0};
    return c;
  }
  Outcome run(const Cluster& c, FaultPlan faults = {}) {
    job.results.clear();
    World world(c, {.seed = Seed(4), .faults = std::move(faults)});
    const Outcome outcome = world.run(job.program());
    EXPECT_TRUE(outcome.finished) << outcome.waiting_for;
    EXPECT_TRUE(outcome.errors.empty()) << outcome.errors.front().what;
    for (const auto& [node, w] : job.results)
      EXPECT_EQ(w, job.results.begin()->second) << "node " << node.value() << " differs in bits";
    return outcome;
  }
  std::vector<float> result() { return job.results.begin()->second; }
};

constexpr const char* kEarly = "sync: a pass was begun before its step";

TEST_F(SyncOrder, AllOrdersHaveTheSameBits) {
  for (const RuleKind rule : {RuleKind::Sgd, RuleKind::Adam})
    for (const double clip : {0.0, 0.1})
      for (const std::size_t P : {1U, 2U, 5U}) {
        job.task.rule = default_rule(rule);
        job.task.rule.clip_norm = clip;
        job.task.eta = 0.01;
        job.recipe = recipe_of(By::Fifo);
        run(cluster(P));
        const std::vector<float> fifo = result();
        job.recipe = recipe_of(By::Wfbp);
        run(cluster(P));
        EXPECT_EQ(result(), fifo);
        for (const std::uint64_t elements : {1U, 7U, 1000U}) {
          job.recipe = recipe_of(By::Priority);
          job.tuning.chunk = Bytes(elements * sizeof(float));
          const Outcome outcome = run(cluster(P));
          EXPECT_EQ(result(), fifo) << P << " workers, chunks of " << elements;
          EXPECT_EQ(outcome.probes.contains(kEarly), P > 1 && clip == 0);
        }
      }
}

TEST_F(SyncOrder, APassThatWasBegunEarlyIsGivenUpWithItsView) {
  job.recipe = recipe_of(By::Priority);
  job.tuning.chunk = Bytes(32);
  job.task.steps = Step(60);
  std::uint64_t dropped = 0;
  for (int ms = 20; ms < 60; ms += 7) {
    const Outcome outcome = run(cluster(3), parse_faults(fmt::format("crash:1@{}ms+20ms", ms), 3));
    const auto probe = outcome.probes.find("sync: a step was dropped for a new view");
    dropped += probe == outcome.probes.end() ? 0 : probe->second;
    const std::vector<float> oracle = job.sequential(Seed(4));
    for (std::size_t i = 0; i < oracle.size(); ++i) ASSERT_NEAR(result()[i], oracle[i], 1e-5);
  }
  EXPECT_GT(dropped, 0U);
}

TEST_F(SyncOrder, RunningStatisticsWaitForTheWholeStep) {
  job.problem.statistics = true;
  job.recipe = recipe_of(By::Wfbp);
  run(cluster(3));
  const std::vector<float> wfbp = result();
  job.recipe = recipe_of(By::Priority);
  const Outcome outcome = run(cluster(3));
  EXPECT_EQ(result(), wfbp);
  EXPECT_FALSE(outcome.probes.contains(kEarly));
}

// ---- Times

struct StepTimes final : Journal {
  std::vector<StepReport> reports;
  std::vector<Time> ends;
  Env* env = nullptr;
  Task<void> step_done(StepReport report) override {
    reports.push_back(std::move(report));
    ends.push_back(env->now());
    co_return;
  }
  Task<void> evaluated(EvaluationReport) override { co_return; }
  void saved(Step) override {}
  Ending leave() override { return Ending::No; }
};

struct NoCheckpointStore final : CheckpointStore {
  Task<void> save(Replica&) override { co_return; }
  Task<bool> load(Replica&) override { co_return false; }
};

constexpr std::uint64_t kSteps = 6;

// The step times of worker 0.
StepTimes steps_of(const std::vector<PhantomLayer>& layers, const Cluster& cluster, By order) {
  PhantomLearner learner(layers);
  StepTimes times;
  const TrainingTask task{.samples = 1'000'000,
                          .global_batch = cluster.nodes.size(),
                          .steps = Step(kSteps),
                          .evaluate = false};
  const InStep recipe = recipe_of(order);
  World world(cluster, {.seed = Seed(4), .fixed_view = true});
  const Outcome outcome = world.run([&](Node& node) -> Task<void> {
    Replica replica(node.endpoint, learner, Ledger(node.env.seed(), task.samples));
    NoCheckpointStore checkpoints;
    const bool first = node.id == NodeId(0);
    if (first) times.env = &node.env;
    Journal* const journal = first ? &times : nullptr;
    co_await sync_worker(node, learner, checkpoints, replica, task, recipe, journal);
  });
  EXPECT_TRUE(outcome.finished && outcome.errors.empty()) << outcome.waiting_for;
  return times;
}

double step_s(const StepTimes& times) {
  return seconds(times.ends.back() - times.ends[1]) / (kSteps - 2);
}

double step_s(const std::vector<PhantomLayer>& layers, const Cluster& cluster, By order) {
  return step_s(steps_of(layers, cluster, order));
}

Cluster wired(std::size_t P, double bits_per_s) {
  Cluster c = Cluster::uniform(P, {.latency = 50us, .bytes_per_s = bits_per_s / 8});
  for (HostModel& host : c.hosts) host.cores = 2;
  c.ns_per_element = {1, 1, 0.3, 0.5, 0, 0, 0, 0};  // phantoms: passes take nanoseconds
  c.timing_only = true;
  return c;
}

Cluster one_host(std::size_t P) {
  Cluster c = wired(P, 1e9);
  for (Placement& p : c.nodes) p.host = HostId(0);
  c.hosts[0].cores = static_cast<unsigned>(2 * P);
  c.hosts[0].memory = {.latency = 2us, .bytes_per_s = 1e10};
  return c;
}

PhantomLayer layer(std::string name, std::uint64_t parameters, Duration forward) {
  const auto ns = static_cast<std::uint64_t>(forward.count());
  return {std::move(name), Elements(parameters), Elements(ns), Elements(2 * ns)};
}

// A wide first layer, like an embedding or `mlp:16384-1024-...`, followed by deep ones.
std::vector<PhantomLayer> heavy_first() {
  std::vector<PhantomLayer> layers{layer("first", 4 << 20, 10ms)};
  for (int i = 0; i < 8; ++i) layers.push_back(layer("deep", 1 << 20, 10ms));
  return layers;
}

std::vector<PhantomLayer> phantom(const std::string& name, double tflops, double samples) {
  std::vector<PhantomLayer> layers;
  for (const LayerSize& size : architecture(name)) {
    const double ns = samples * size.flops / (1e3 * tflops);
    layers.push_back(
        layer(size.name, size.parameters.value(), Duration(static_cast<std::int64_t>(ns))));
  }
  return layers;
}

TEST(OrderInTime, PriorityBeatsWfbpWhereFirstLayersAreHeavyAtOneGigabit) {
  for (const std::size_t P : {2U, 4U, 8U}) {
    const double wfbp = step_s(heavy_first(), wired(P, 1e9), By::Wfbp);
    const double fifo = step_s(heavy_first(), wired(P, 1e9), By::Fifo);
    const double priority = step_s(heavy_first(), wired(P, 1e9), By::Priority);
    RecordProperty(fmt::format("P{}", P),
                   fmt::format("{:.4f} {:.4f} {:.4f}", fifo, wfbp, priority));
    EXPECT_LT(wfbp, fifo);
    EXPECT_LT(priority, 0.9 * wfbp) << P << " workers";
  }
}

TEST(OrderInTime, PriorityNeverLosesMoreThanThreePercentElsewhere) {
  for (const std::string name : {"alexnet", "googlenet", "resnet-50"})
    for (const auto& [where, c] :
         {std::pair("1 Gbit/s", wired(2, 1e9)), std::pair("10 Gbit/s", wired(3, 1e10)),
          std::pair("one host", one_host(2))}) {
      const std::vector<PhantomLayer> layers = phantom(name, 5, 16);
      const double wfbp = step_s(layers, c, By::Wfbp);
      const double priority = step_s(layers, c, By::Priority);
      RecordProperty(fmt::format("{} {}", name, where),
                     fmt::format("{:.4f} {:.4f}", wfbp, priority));
      EXPECT_LT(priority, 1.03 * wfbp) << name << ", " << where;
    }
}

TEST(OrderInTime, TheNextForwardPassRunsWhileTheStepBeforeIsExchanged) {
  const StepTimes times = steps_of(heavy_first(), wired(2, 1e9), By::Priority);
  for (std::size_t t = 1; t < times.reports.size(); ++t) {
    const StepReport& report = times.reports[t];
    Time last{};
    for (const ExchangeSpan& span : times.reports[t - 1].exchanges) last = std::max(last, span.end);
    EXPECT_LT(report.begun, last) << "step " << t;
    EXPECT_GT(report.computed, last) << "step " << t;
    // `compute` contains only the computation itself.
    EXPECT_EQ(report.compute, 9 * 30ms);
  }
}

TEST(OrderInTime, FirstLayersAreThereFirst) {
  const StepTimes times = steps_of(heavy_first(), wired(2, 1e9), By::Priority);
  std::map<std::uint32_t, Time> end;
  for (const ExchangeSpan& span : times.reports.back().exchanges)
    end[span.bucket] = std::max(end[span.bucket], span.end);
  ASSERT_EQ(end.size(), 9U);
  // Bucket 8 belongs to the first layer, and is the last to be ready.
  EXPECT_LT(end[8] + 50ms,
            std::ranges::max_element(end, {}, [](auto& e) { return e.second; })->second);
}

}  // namespace
}  // namespace shoal
