#include "conformance/worlds.h"

#include <chrono>
#include <cstdint>
#include <exception>
#include <utility>

#include "sim/world.h"
#include "support/no_files.h"
#include "transport/inproc_world.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

void report(NodeId node, Incarnation incarnation, const std::string& what) {
  ADD_FAILURE() << "node " << node.value() << "." << incarnation.value() << ": " << what;
}

// Nodes of this process on threads; `loops` of 0 means one for each node.
template <std::size_t loops>
class InprocUnderTest final : public WorldUnderTest {
 public:
  void run(std::size_t nodes, NodeProgram program) override {
    InprocOptions options;
    options.nodes = nodes;
    options.loops = loops == 0 ? nodes : loops;
    options.limit = 30s;
    InprocWorld world(options, [](Env&, NodeId) { return std::make_unique<NoFiles>(); });
    world_ = &world;
    for (const NodeEnd& end : world.run(std::move(program))) {
      if (!end.error) continue;
      try {
        std::rethrow_exception(end.error);
      } catch (const std::exception& error) {
        report(end.node, end.incarnation, error.what());
      }
    }
    world_ = nullptr;
  }
  void kill(NodeId node) override { world_->kill(node); }

 private:
  InprocWorld* world_ = nullptr;
};

// In simulation a send completes at once, or only when it is matched, or by the seed.
template <Completion completion>
class SimUnderTest final : public WorldUnderTest {
 public:
  void run(std::size_t nodes, NodeProgram program) override {
    LinkModel nic;
    nic.latency = 20us;
    nic.bytes_per_s = 1.25e9;
    Cluster cluster = Cluster::uniform(nodes, nic);
    cluster.completion = completion;
    cluster.cancelled_busy_max = 5ms;
    WorldOptions options;
    options.seed = Seed(++seed_);
    World world(cluster, options);
    world_ = &world;
    const Outcome outcome = world.run(std::move(program));
    EXPECT_TRUE(outcome.finished) << outcome.waiting_for;
    for (const NodeError& error : outcome.errors) report(error.node, error.incarnation, error.what);
    world_ = nullptr;
  }
  void kill(NodeId node) override { world_->kill(node, false); }

 private:
  std::uint64_t seed_ = 0;
  World* world_ = nullptr;
};

template <class W>
WorldKind kind(std::string name) {
  return {std::move(name),
          []() -> std::unique_ptr<WorldUnderTest> { return std::make_unique<W>(); }};
}

}  // namespace

std::vector<WorldKind> worlds() {
  std::vector<WorldKind> all;
  all.push_back(kind<InprocUnderTest<1>>("InprocOneLoop"));
  all.push_back(kind<InprocUnderTest<2>>("InprocTwoLoops"));
  all.push_back(kind<InprocUnderTest<0>>("InprocLoopEach"));
  all.push_back(kind<SimUnderTest<Completion::AtOnce>>("SimAtOnce"));
  all.push_back(kind<SimUnderTest<Completion::WhenMatched>>("SimWhenMatched"));
  all.push_back(kind<SimUnderTest<Completion::BySeed>>("SimBySeed"));
  return all;
}

}  // namespace shoal
