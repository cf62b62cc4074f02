// The worlds with messages between processes; here the processes are threads that share nothing,
// each with carriers of its own.
#include <map>
#include <mutex>
#include <optional>

#include "conformance/live_world.h"
#include "conformance/messages.h"
#include "transport/shm/shm_carrier.h"
#include "transport/ucx/ucx_carrier.h"
#include "transport/wire/wire_endpoint.h"

namespace shoal {
namespace {

// Tokens. Their number selects the lane: one token per lane, with consecutive numbers, connects all
// lanes.
constexpr std::uint64_t kReady = 0x200;
constexpr std::uint64_t kBegin = 0x201;
constexpr std::uint64_t kConnected = 0x202;
constexpr std::uint32_t kLanesMost = 3;

// Thread safety: every method may be called from any thread.
class Phonebook final : public PeerDirectory {
 public:
  void add(LifeId life, Ways contact) {
    const std::lock_guard lock(mutex_);
    contacts_[life] = std::move(contact);
  }
  std::optional<Listing> find(NodeId node, Incarnation incarnation) const override {
    const std::lock_guard lock(mutex_);
    for (auto it = contacts_.rbegin(); it != contacts_.rend(); ++it) {
      const auto& [life, contact] = *it;
      if (life.node != node) continue;
      if (incarnation == Incarnation(0) || incarnation == life.incarnation)
        return Listing{life, contact};
    }
    return std::nullopt;
  }

 private:
  mutable std::mutex mutex_;
  std::map<LifeId, Ways> contacts_;  // guarded by mutex_
};

// Connects all nodes on every lane before a test begins: a peer that dies while it connects breaks
// UCX 1.13, which ends the life of the node that it connects to (see UcxBroken and its own test).
Task<void> connect_all(Node& node, std::size_t nodes, const NodeProgram& program) {
  if (node.incarnation == Incarnation(1)) {
    co_await first_generation(node);
    for (const NodeId other : everyone(nodes))
      for (std::uint64_t lane = 0; other != node.id && lane < kLanesMost; ++lane)
        co_await send_token(node, other, kConnected + lane);
    for (const NodeId other : everyone(nodes))
      for (std::uint64_t lane = 0; other != node.id && lane < kLanesMost; ++lane)
        co_await recv_token(node, other, kConnected + lane);
    // No node begins before all are connected.
    if (node.id == NodeId(0)) {
      for (std::size_t n = 1; n < nodes; ++n) co_await recv_token(node, node_id(n), kReady);
      for (std::size_t n = 1; n < nodes; ++n) co_await send_token(node, node_id(n), kBegin);
    } else {
      co_await send_token(node, NodeId(0), kReady);
      co_await recv_token(node, NodeId(0), kBegin);
    }
  }
  co_await program(node);
}

class WireUnderTest : public LiveUnderTest {
 public:
  using LiveUnderTest::LiveUnderTest;

 protected:
  virtual Carriers make_carriers(LiveLoop& loop, NodeId node) = 0;

 private:
  NodeProgram prepared(std::size_t nodes, NodeProgram program) override {
    return [nodes, program = std::move(program)](Node& node) {
      return connect_all(node, nodes, program);
    };
  }
  std::unique_ptr<LiveEndpoint> make_endpoint(LiveLoop& loop, Env& env, NodeId node,
                                              Incarnation incarnation) override {
    Carriers carriers = make_carriers(loop, node);
    const LifeId life{node, incarnation};
    // As text, the form in which it is sent.
    phonebook_.add(life, decode_ways(encode_ways(ways_of(carriers))));
    return std::make_unique<WireEndpoint>(loop, env, life, std::move(carriers), phonebook_);
  }

  Phonebook phonebook_;
};

template <std::size_t loops, std::uint32_t lanes>
class UcxUnderTest final : public WireUnderTest {
 public:
  UcxUnderTest() : WireUnderTest(loops) {}

 private:
  Carriers make_carriers(LiveLoop& loop, NodeId) override {
    Carriers carriers;
    carriers.push_back(make_ucx_carrier(loop, {.lanes = lanes}));
    return carriers;
  }
};

template <std::size_t loops>
class ShmUnderTest final : public WireUnderTest {
 public:
  ShmUnderTest() : WireUnderTest(loops) {}

 private:
  Carriers make_carriers(LiveLoop& loop, NodeId) override {
    Carriers carriers;
    carriers.push_back(make_shm_carrier(loop, {}));
    return carriers;
  }
};

// Two hosts: shared memory within each, UCX between them.
class TwoHostsUnderTest final : public WireUnderTest {
 public:
  TwoHostsUnderTest() : WireUnderTest(2) {}

 private:
  Carriers make_carriers(LiveLoop& loop, NodeId node) override {
    Carriers carriers;
    carriers.push_back(make_shm_carrier(loop, {.host = node.value() % 3 == 0 ? "a" : "b"}));
    carriers.push_back(make_ucx_carrier(loop, {}));
    return carriers;
  }
};

}  // namespace

std::vector<WorldKind> worlds() {
  return {kind<UcxUnderTest<1, 1>>("UcxOneLoop"),
          kind<UcxUnderTest<0, 1>>("UcxLoopEach"),
          kind<UcxUnderTest<2, kLanesMost>>("UcxThreeLanes"),
          kind<ShmUnderTest<1>>("ShmOneLoop"),
          kind<ShmUnderTest<0>>("ShmLoopEach"),
          kind<TwoHostsUnderTest>("TwoHosts")};
}

}  // namespace shoal
