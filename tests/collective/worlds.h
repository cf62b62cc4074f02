// The worlds in which collectives are tested: the same program, simulated and between threads.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/recorder.h"
#include "collective/dissemination.h"
#include "collective/group.h"
#include "sim/world.h"
#include "support/no_files.h"
#include "transport/inproc_world.h"

namespace shoal {

enum class WorldKind : std::uint8_t {
  Ideal,    // one host per member; messages are buffered
  Seeded,   // three hosts; sends end when the seed says so; work takes varying time
  OneHost,  // everything is read in place; sends end when they were received
  Threads,  // of this process, in real time
};
inline constexpr WorldKind kWorldKinds[] = {WorldKind::Ideal, WorldKind::Seeded, WorldKind::OneHost,
                                            WorldKind::Threads};

inline std::string to_string(WorldKind kind) {
  constexpr const char* kNames[] = {"Ideal", "Seeded", "OneHost", "Threads"};
  return kNames[static_cast<std::size_t>(kind)];
}

inline constexpr std::uint64_t kLastOperation = std::uint64_t{1} << 40U;

inline Group group_of(Node& node) {
  return {node, GroupId(1), std::make_shared<const View>(node.membership.now())};
}

// P nodes on `hosts` hosts; consecutive nodes fill a host.
inline Cluster cluster_of(std::size_t P, std::size_t hosts, LinkModel nic, LinkModel memory) {
  Cluster cluster = Cluster::uniform(hosts, nic);
  cluster.nodes.clear();
  for (HostModel& host : cluster.hosts) {
    host.memory = memory;
    host.cores = static_cast<unsigned>((P + hosts - 1) / hosts);
  }
  const std::size_t each = (P + hosts - 1) / hosts;
  for (std::size_t n = 0; n < P; ++n)
    cluster.nodes.push_back({HostId(static_cast<std::uint32_t>(n / each)), Role::Worker});
  return cluster;
}

inline Cluster seeded_cluster(std::size_t P) {
  using namespace std::chrono_literals;
  Cluster cluster = cluster_of(P, std::min<std::size_t>(P, 3), {.latency = 5us, .bytes_per_s = 1e9},
                               {.latency = 1us, .bytes_per_s = 1e10});
  cluster.completion = Completion::BySeed;
  cluster.cancelled_busy_max = 20us;
  cluster.ns_per_element[static_cast<std::size_t>(Work::Reduce)] = 5;
  cluster.stragglers.assign(P, {Straggler::Kind::HeavyTail, 1.5});
  return cluster;
}

// Counts violations: uses of a range that is still busy.
class ReuseCounter final : public Observer {
 public:
  void on(const Event& event) override { reused_ += event.kind == EventKind::RangeReused ? 1 : 0; }
  std::uint64_t reused() const { return reused_; }

 private:
  std::uint64_t reused_ = 0;
};

inline void run_simulated(Cluster cluster, Seed seed, const NodeProgram& program) {
  Recorder recorder;
  ReuseCounter counter;
  recorder.observe(counter);
  WorldOptions options;
  options.seed = seed;
  options.recorder = &recorder;
  options.fixed_view = true;
  World world(std::move(cluster), options);
  const Outcome outcome = world.run(program);
  EXPECT_TRUE(outcome.finished) << outcome.waiting_for;
  for (const NodeError& error : outcome.errors) ADD_FAILURE() << error.what;
  EXPECT_EQ(counter.reused(), 0U);
}

// Runs the program on P nodes, all in the view from the start; it must return everywhere.
inline void run_in(WorldKind kind, std::uint32_t P, const NodeProgram& program) {
  using namespace std::chrono_literals;
  const Seed seed(P);
  switch (kind) {
    case WorldKind::Ideal:
      return run_simulated(Cluster::uniform(P, {.latency = 1us, .bytes_per_s = 1e9}), seed,
                           program);
    case WorldKind::Seeded: return run_simulated(seeded_cluster(P), seed, program);
    case WorldKind::OneHost: {
      Cluster cluster = cluster_of(P, 1, {}, {.latency = 1us, .bytes_per_s = 1e10});
      cluster.completion = Completion::WhenMatched;
      return run_simulated(std::move(cluster), seed, program);
    }
    case WorldKind::Threads: break;
  }
  InprocOptions options;
  options.nodes = P;
  options.loops = std::min<std::size_t>(P, 2);
  InprocWorld world(options, [](Env&, NodeId) { return std::make_unique<NoFiles>(); });
  rethrow_failure(world.run([&](Node& node) -> Task<> {
    const ViewPtr view = co_await node.membership.after(Generation(0));
    co_await program(node);
    // No member leaves before all have ended: the others would see another view.
    const Group group(node, GroupId(1), view);
    co_await barrier(group, kLastOperation);
    co_await node.endpoint.retire(GroupId(1), view->generation);
  }));
}

}  // namespace shoal
