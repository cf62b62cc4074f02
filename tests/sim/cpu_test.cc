// How work on a simulated host shares its cores.
#include "sim/cpu.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "runtime/task_group.h"
#include "sim/world.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

// Every element costs a nanosecond.
Cluster one_host(std::size_t nodes, unsigned cores) {
  Cluster cluster = Cluster::uniform(nodes, {});
  cluster.ns_per_element.fill(1);
  cluster.hosts[0].cores = cores;
  for (Placement& p : cluster.nodes) p.host = HostId(0);
  return cluster;
}

Outcome run_in(const Cluster& cluster, NodeProgram program) {
  WorldOptions options;
  options.fixed_view = true;
  World world(cluster, options);
  Outcome outcome = world.run(std::move(program));
  EXPECT_TRUE(outcome.errors.empty());
  return outcome;
}

Task<void> piece(Node& node, Work kind, std::uint64_t n, Time& end) {
  co_await node.env.work(kind, Elements(n), [] {});
  end = node.env.now();
}

TEST(Cpu, ANodesModelComputesOnePieceAfterTheOther) {
  Time first, second;
  run_in(one_host(1, 4), [&](Node& node) -> Task<> {
    co_await with_group([&](TaskGroup& group) -> Task<> {
      group.spawn(piece(node, Work::Backward, 1000, first));
      group.spawn(piece(node, Work::Update, 500, second));
      co_return;
    });
  });
  EXPECT_EQ(first, Time(1000ns));
  EXPECT_EQ(second, Time(1500ns));
}

TEST(Cpu, WhatIsExchangedIsWorkedOnMeanwhile) {
  for (const unsigned cores : {1U, 2U}) {
    Time gradient, sum;
    run_in(one_host(1, cores), [&](Node& node) -> Task<> {
      co_await with_group([&](TaskGroup& group) -> Task<> {
        group.spawn(piece(node, Work::Backward, 1000, gradient));
        group.spawn(piece(node, Work::Reduce, 300, sum));
        co_return;
      });
    });
    // On one core both run at half speed until the sum is done.
    EXPECT_EQ(sum, Time(cores == 1 ? 600ns : 300ns));
    EXPECT_EQ(gradient, Time(cores == 1 ? 1300ns : 1000ns));
  }
}

TEST(Cpu, AServerHasOneThreadForEverything) {
  Cluster cluster = one_host(2, 2);
  cluster.nodes[1].role = Role::Server;
  Time update, sum;
  run_in(cluster, [&](Node& node) -> Task<> {
    if (node.id == NodeId(0)) co_return;
    co_await with_group([&](TaskGroup& group) -> Task<> {
      group.spawn(piece(node, Work::Update, 1000, update));
      group.spawn(piece(node, Work::Reduce, 300, sum));
      co_return;
    });
  });
  EXPECT_EQ(update, Time(1000ns));
  EXPECT_EQ(sum, Time(1300ns));
}

TEST(Cpu, WorkThatIsGivenUpLeavesTheCoreToTheOthers) {
  Time end;
  run_in(one_host(2, 1), [&](Node& node) -> Task<> {
    if (node.id == NodeId(0)) {
      co_await piece(node, Work::Backward, 1000, end);
      co_return;
    }
    Time never;
    try {
      co_await with_group([&](TaskGroup& group) -> Task<> {
        group.spawn(piece(node, Work::Backward, 100000, never));
        co_await node.env.sleep(400ns);
        throw Cancelled();
      });
    } catch (const Cancelled&) {
      EXPECT_EQ(never, Time());
    }
  });
  EXPECT_EQ(end, Time(1200ns));  // 400 ns at half speed
}

TEST(Cpu, OneDrawMakesAllOfAPassSlow) {
  Cluster cluster = one_host(1, 1);
  cluster.stragglers = {{Straggler::Kind::Jitter, 0.2}};
  run_in(cluster, [&](Node& node) -> Task<> {
    double before = 0;
    for (int pass = 0; pass < 5; ++pass) {
      Time end[3];
      const Time begin = node.env.now();
      co_await piece(node, Work::Forward, 1000000, end[0]);
      co_await piece(node, Work::Backward, 1000000, end[1]);
      co_await piece(node, Work::Backward, 1000000, end[2]);
      EXPECT_EQ(end[1] - end[0], end[0] - begin);
      EXPECT_EQ(end[2] - end[1], end[0] - begin);
      EXPECT_NE(seconds(end[0] - begin), before);
      before = seconds(end[0] - begin);
    }
  });
}

TEST(Cpu, ALinkThatCarriesMessagesTakesItsPart) {
  Cluster cluster = Cluster::uniform(2, {.bytes_per_s = 1e9, .cpu_ns_per_byte = 0.5});
  cluster.ns_per_element.fill(1);
  std::array<Time, 2> ends{};
  run_in(cluster, [&](Node& node) -> Task<> {
    const NodeId peer(1 - node.id.value());
    const ConstBuf out{nullptr, Bytes(400)};
    const MutBuf in{nullptr, Bytes(400)};
    const Match match{.from = peer, .tag = Tag{}};
    co_await with_group([&](TaskGroup& group) -> Task<> {
      group.spawn(piece(node, Work::Backward, 1000, ends[node.id.value()]));
      if (node.id == NodeId(0)) {
        co_await node.endpoint.send(peer, Tag{}, out);
      } else {
        co_await node.endpoint.recv(match, in);
      }
    });
  });
  // For 400 ns each end loses half a core.
  EXPECT_EQ(ends[0], Time(1200ns));
  EXPECT_EQ(ends[1], Time(1200ns));
}

}  // namespace
}  // namespace shoal
