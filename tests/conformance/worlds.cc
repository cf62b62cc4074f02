#include "conformance/worlds.h"

#include <chrono>
#include <cstdint>
#include <utility>

#include "conformance/live_world.h"
#include "sim/world.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

template <std::size_t loops>
class InprocUnderTest final : public LiveUnderTest {
 public:
  InprocUnderTest() : LiveUnderTest(loops) {}

 private:
  bool in_process() const override { return true; }
  std::unique_ptr<LiveEndpoint> make_endpoint(LiveLoop&, Env&, NodeId, Incarnation) override {
    return nullptr;
  }
};

// In simulation a send completes at once, or when it is matched, or as the seed decides.
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
