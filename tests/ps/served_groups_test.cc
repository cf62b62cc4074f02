// Groups of workers that act as one worker to the servers: traffic between hosts, the systems they
// are equal to, and losses of members and leaders.
#include <gtest/gtest.h>

#include <algorithm>

#include "ps/served_job.h"
#include "recipe/registry.h"
#include "sim/checkers/checker.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

class ServedGroups : public testing::Test {
 protected:
  ServedJob job;
  ServedSetup& setup = job;
  ParameterServerOptions& ps = job.recipe.ps;

  // `each` workers on each host, then the servers, on hosts of their own.
  Cluster cluster(std::size_t hosts, std::size_t each, std::size_t servers) {
    const std::size_t workers = hosts * each;
    Cluster c = served_cluster(job, 0, workers + servers);
    for (std::size_t i = 0; i < workers; ++i)
      c.nodes[i].host = HostId(static_cast<std::uint32_t>(i / each));
    for (std::size_t i = workers; i < workers + servers; ++i) c.nodes[i].role = Role::Server;
    for (HostModel& host : c.hosts) {
      host.cores = static_cast<unsigned>(each);
      host.memory = {.latency = 1us, .bytes_per_s = 1e10};
    }
    c.stragglers.resize(c.nodes.size());
    setup.task.workers = workers;
    setup.task.hosts = hosts;
    setup.recipe.ps.servers = std::max<std::size_t>(1, servers);
    return c;
  }
  Outcome run(const Cluster& cluster) {
    World world(cluster, {.seed = kServedSeed});
    return run(world);
  }
  Outcome run(World& world) {
    job.results.clear();
    job.steps.clear();
    return run_served(job, world);
  }
  const std::vector<float>& result() { return job.results[NodeId(0)]; }
  // All workers that finished have the same result.
  void expect_same_results() {
    const auto last = NodeId(static_cast<std::uint32_t>(setup.task.workers) - 1);
    for (NodeId i{}; i < last; i = NodeId(i.value() + 1)) {
      if (!job.results.contains(i)) continue;
      EXPECT_EQ(job.results[i], job.results[last]) << "node " << i.value();
    }
  }
};

// ---- mxnet-mpi: the systems that groups are equal to

TEST_F(ServedGroups, OneGroupIsSynchronousBitForBit) {
  setup.task.epochs = 2;
  ps.consistency = consistency::Synchronous{};
  run(cluster(1, 4, 1));
  const std::vector<float> expected = result();
  ps.consistency = consistency::Async{};
  ps.groups = parse_groups("4");
  const Outcome outcome = run(cluster(1, 4, 1));
  EXPECT_EQ(result(), expected);
  EXPECT_EQ(job.measured.most, 0U);
  EXPECT_FALSE(outcome.probes.contains("ps: a piece that nobody asked for"));
  expect_same_results();
}

TEST_F(ServedGroups, OfOneWorkerEachAreAsynchronousBitForBit) {
  const Outcome off = run(cluster(2, 2, 1));
  const std::vector<float> expected = result();
  ps.groups = parse_groups("1");
  const Outcome ones = run(cluster(2, 2, 1));
  EXPECT_EQ(result(), expected);
  EXPECT_EQ(ones.messages, off.messages);
}

TEST_F(ServedGroups, InStepAreOneWorkerOnTheGlobalBatch) {
  ps.consistency = consistency::Synchronous{};
  setup.task.epochs = 2;
  // Two groups of six workers are not equal in size.
  for (const char* const groups : {"host", "2", "4"}) {
    ps.groups = parse_groups(groups);
    run(cluster(2, 3, 2));
    job.expect_near(NodeId(0), 36);
    expect_same_results();
  }
}

TEST_F(ServedGroups, StalenessIsThatOfTheOtherGroups) {
  job.task.samples = 4800;
  ps.groups = parse_groups("2");
  run(cluster(4, 2, 1));
  EXPECT_NEAR(job.measured.mean(), 3, 0.5) << "of four groups, not of eight workers";
}

TEST_F(ServedGroups, NobodyWaitsForAnotherGroup) {
  job.task.samples = 2400;
  setup.recipe.ps = std::get<Served>(find_system("mxnet-mpi").recipe).ps;
  Cluster uneven = cluster(2, 2, 1);
  uneven.stragglers[3] = {Straggler::Kind::Constant, 10};
  run(uneven);
  const auto steps = [&](std::uint32_t node) { return job.steps[NodeId(node)].size(); };
  EXPECT_GT(steps(0), 5 * steps(2));
  EXPECT_EQ(steps(0), steps(1)) << "inside a group they are in step";
  EXPECT_EQ(steps(2), steps(3));
}

// ---- mxnet: two tiers

// Counts bytes that leave the workers' hosts.
class Leaving final : public Observer {
 public:
  explicit Leaving(const Cluster& cluster) : cluster_(cluster) {}
  void on(const Event& event) override {
    if (event.kind != EventKind::SendPosted) return;
    const Placement& from = cluster_.nodes[event.node.value()];
    if (from.role == Role::Worker && from.host != cluster_.nodes[event.peer.value()].host)
      bytes += event.b;
  }
  std::uint64_t bytes = 0;

 private:
  const Cluster& cluster_;
};

TEST_F(ServedGroups, BytesLeavingAHostDoNotDependOnTheWorkersOnIt) {
  constexpr std::uint64_t kSteps = 20, kHosts = 2, kN = 20'000;
  job.problem.dimensions = Elements(kN);
  for (const char* const consistency : {"synchronous", "async"})
    for (const std::size_t each : {1U, 2U, 4U}) {
      setup.recipe.ps = std::get<Served>(find_system("mxnet").recipe).ps;
      ps.consistency = parse_consistency(consistency);
      job.task.samples = kSteps * kHosts * each * setup.task.batch;
      const Cluster c = cluster(kHosts, each, 1);
      Leaving leaving(c);
      Recorder recorder;
      recorder.observe(leaving);
      World world(c, {.seed = kServedSeed, .recorder = &recorder});
      run(world);
      const double gradients = kSteps * kHosts * kN * sizeof(float);
      EXPECT_NEAR(static_cast<double>(leaving.bytes), gradients, 0.03 * gradients)
          << consistency << " with " << each << " on each host";
    }
}

TEST_F(ServedGroups, MessagesOfAStepAreThoseOfTheLeaderAndFourOfEachOtherMember) {
  constexpr std::uint64_t kGroups = 2, kEach = 3, kServers = 2, kMore = 10;
  ps.groups = parse_groups("host");
  const auto messages = [&](std::uint64_t steps) {
    job.task.samples = steps * kGroups * kEach * setup.task.batch;
    return run(cluster(kGroups, kEach, kServers)).messages;
  };
  const std::uint64_t leader = 4 * kServers, others = 4 * (kEach - 1);
  EXPECT_EQ(messages(10 + kMore) - messages(10), kMore * kGroups * (leader + others));
}

// ---- hierarchical: a tree of servers

TEST_F(ServedGroups, TheStalenessBoundHoldsEndToEnd) {
  job.task.samples = 3600;
  for (const std::uint32_t write_back : {1U, 4U}) {
    ps = std::get<Served>(find_system("hierarchical").recipe).ps;
    ps.write_back = write_back;
    Cluster uneven = cluster(3, 2, 1);
    uneven.stragglers[5] = {Straggler::Kind::Constant, 6};
    Recorder recorder;
    const auto bound = make_reads_bounded();
    recorder.observe(*bound);
    World world(uneven, {.seed = kServedSeed, .recorder = &recorder});
    run(world);
    EXPECT_TRUE(bound->violations().empty()) << bound->violations().front();
    // The parameters with which each member computed, and those that the leaders read.
    EXPECT_GT(bound->seen(), job.task.samples / setup.task.batch);
    // There are two other groups: each may be a round behind when this one reads, and two ahead
    // when it pushes.
    EXPECT_LE(job.measured.most, 2U * 3);
    EXPECT_GT(job.measured.most, 0U);
  }
}

TEST_F(ServedGroups, AProxyWritesBackOnceForAllStepsOfItsMembers) {
  job.task.samples = 2400;
  ps = std::get<Served>(find_system("hierarchical").recipe).ps;
  run(cluster(2, 2, 1));
  EXPECT_EQ(job.measured.pushes, job.task.samples / (setup.task.batch * 2 * ps.write_back));
}

TEST_F(ServedGroups, BehindAProxyNobodyWaitsForASlowMember) {
  job.task.samples = 2400;
  ps = std::get<Served>(find_system("hierarchical").recipe).ps;
  Cluster uneven = cluster(1, 3, 1);
  uneven.stragglers[2] = {Straggler::Kind::Constant, 4};
  run(uneven);
  EXPECT_GT(job.steps[NodeId(1)].size(), 2 * job.steps[NodeId(2)].size());
  ps.write_back = 1;
  run(uneven);
  EXPECT_EQ(job.steps[NodeId(1)].size(), job.steps[NodeId(2)].size());
}

TEST_F(ServedGroups, AProxyMovesAsTheServersWill) {
  // A single worker: four steps at a quarter of the rate equal the server's step by their sum.
  ps.groups = parse_groups("1");
  ps.write_back = 4;
  run(cluster(1, 1, 1));
  setup.task.eta /= 4;
  job.expect_near(NodeId(0), setup.task.batch);
}

// ---- Losses

TEST_F(ServedGroups, TheRoundOfALostMemberIsEndedByTheOthers) {
  job.task.samples = 1200;
  ps.groups = parse_groups("host");
  World world(cluster(2, 3, 1), {.seed = kServedSeed});
  world.at(Time(80ms), [&] { world.kill(NodeId(1), false); });
  const Outcome outcome = run(world);
  EXPECT_EQ(outcome.probes.at("ps: a piece of a lost member"), 1U);
  expect_same_results();
}

TEST_F(ServedGroups, AfterTheirLeaderMembersGoOnWithTheNext) {
  job.task.samples = 1200;
  ps.groups = parse_groups("host");
  World world(cluster(2, 3, 1), {.seed = kServedSeed});
  world.at(Time(80ms), [&] { world.kill(NodeId(0), false); });
  run(world);
  expect_same_results();
  const std::vector<Time>& steps = job.steps[NodeId(2)];
  EXPECT_GT(std::ranges::count_if(steps, [](Time t) { return t > Time(100ms); }), 20);
}

TEST_F(ServedGroups, ALeaderThatComesBackLeadsAgain) {
  job.task.samples = 2400;
  ps.groups = parse_groups("host");
  World world(cluster(2, 3, 1), {.seed = kServedSeed});
  world.at(Time(80ms), [&] { world.kill(NodeId(0), false); });
  world.restart_at(NodeId(0), Time(200ms));
  run(world);
  EXPECT_EQ(job.results.size(), 7U);
  expect_same_results();
  EXPECT_GT(job.steps[NodeId(0)].size(), 20U);
}

}  // namespace
}  // namespace shoal
