// A member is lost during a collective: every survivor gets PeerLost or sees a view without it, and
// nothing hangs.
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "base/error.h"
#include "collective/all_to_all.h"
#include "collective/direct.h"
#include "collective/dissemination.h"
#include "collective/exchange.h"
#include "collective/neighbours.h"
#include "collective/ring.h"
#include "collective/tree.h"
#include "collective/worlds.h"
#include "runtime/task_group.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

constexpr GroupId kGroup{1};
constexpr Elements kElements{6'000};

// The buffers of a member; they outlive the interrupted exchange.
struct Memory {
  explicit Memory(Node& node, std::size_t P)
      : data(node.endpoint, kElements, Substance::Real),
        other(node.endpoint, kElements, Substance::Real),
        blocks(P * 8),
        room(P * 8) {}
  Arena data;
  Arena other;
  std::vector<std::byte> blocks, room;
  std::vector<Neighbour> neighbours;
};

struct Collective {
  std::string name;
  std::function<Task<void>(const Group&, Memory&)> run;
  bool whole = false;  // either all have the complete sum, or none has
};

std::vector<Collective> collectives() {
  std::vector<Collective> all;
  for (const Exchange exchange : kAllReduces)
    all.push_back({std::string(to_string(exchange)),
                   [exchange](const Group& g, Memory& m) {
                     return all_reduce(exchange, g, m.data.all(), m.other.all(), 1);
                   },
                   true});
  all.push_back({"direct reduce-scatter", [](const Group& g, Memory& m) {
                   return direct_reduce_scatter(g, m.data.all(), 1);
                 }});
  all.push_back({"direct all-gather",
                 [](const Group& g, Memory& m) { return direct_all_gather(g, m.data.all(), 1); }});
  all.push_back({"ring reduce-scatter", [](const Group& g, Memory& m) {
                   return ring_reduce_scatter(g, m.data.all(), m.other.all(), 1);
                 }});
  all.push_back({"ring all-gather",
                 [](const Group& g, Memory& m) { return ring_all_gather(g, m.data.all(), 1); }});
  all.push_back({"tree reduce", [](const Group& g, Memory& m) {
                   return tree_reduce(g, Rank(1), m.data.all(), m.other.all(), 1);
                 }});
  all.push_back({"tree broadcast", [](const Group& g, Memory& m) {
                   return tree_broadcast(g, Rank(1), m.data.all(), 1);
                 }});
  all.push_back({"all-to-all", [](const Group& g, Memory& m) {
                   return all_to_all(g, m.data.all(), m.other.all(), 1);
                 }});
  all.push_back({"all-gather of blocks",
                 [](const Group& g, Memory& m) { return all_gather(g, m.blocks, m.room, 1); }});
  all.push_back({"barrier", [](const Group& g, Memory&) { return barrier(g, 1); }});
  all.push_back({"neighbours", [](const Group& g, Memory& m) {
                   m.neighbours.assign(1, {g.at(g.rank.value() ^ 1U), m.other.all()});
                   return exchange_with(g, m.data.all(), m.neighbours, 1);
                 }});
  return all;
}

enum class End : std::uint8_t { Done, PeerLost, NewView };

struct Story {
  std::uint32_t P = 6;
  NodeId victim{};
  Duration dies_after{};   // after the begin of the exchange
  bool takes_part = true;  // false: sleeps until it is killed
  Completion completion = Completion::BySeed;
};

Task<End> take_part(const Group& group, const Collective& collective, Memory& memory) {
  try {
    auto first = co_await race(group.node.membership.after(group.view->generation),
                               collective.run(group, memory));
    co_return first.index() == 0 ? End::NewView : End::Done;
  } catch (const PeerLost&) {
    co_return End::PeerLost;
  }
}

std::map<NodeId, End> tell(const Collective& collective, const Story& story) {
  std::map<NodeId, End> ends;
  Cluster cluster = seeded_cluster(story.P);
  cluster.completion = story.completion;
  Recorder recorder;
  ReuseCounter counter;
  recorder.observe(counter);
  WorldOptions options;
  options.seed = Seed(story.victim.value() * 1000 +
                      static_cast<std::uint64_t>(story.dies_after.count() / 1000));
  options.recorder = &recorder;
  options.time_limit = 60s;
  World world(cluster, options);
  bool killed = false;
  const Outcome outcome = world.run([&](Node& node) -> Task<> {
    const ViewPtr view = co_await node.membership.after(Generation(0));
    if (view->size() < story.P) {  // The victim was gone before this node saw the view.
      ends[node.id] = End::NewView;
      co_return;
    }
    Memory memory(node, story.P);
    if (node.id == story.victim && !killed) {
      killed = true;
      world.at(node.env.now() + story.dies_after, [&] { world.kill(story.victim, false); });
      if (!story.takes_part) co_await node.env.sleep(1h);
    }
    const Group group(node, kGroup, view);
    const End end = co_await take_part(group, collective, memory);
    co_await node.endpoint.retire(kGroup, view->generation);
    ends[node.id] = end;
    // No member leaves before the victim is gone: that would be a new view too.
    co_await node.membership.after(view->generation);
  });
  EXPECT_TRUE(outcome.finished) << collective.name << ": " << outcome.waiting_for;
  for (const NodeError& error : outcome.errors)
    ADD_FAILURE() << collective.name << ", node " << error.node.value() << ": " << error.what;
  EXPECT_EQ(counter.reused(), 0U) << collective.name;
  return ends;
}

TEST(Loss, InTheMiddleOfACollectiveReachesEverySurvivor) {
  for (const Collective& collective : collectives()) {
    for (std::uint32_t victim = 0; victim < 6; ++victim) {
      for (const Duration after : {Duration(0us), Duration(3us), Duration(20us), Duration(60us)}) {
        Story story;
        story.victim = NodeId(victim);
        story.dies_after = after;
        const auto ends = tell(collective, story);
        for (std::uint32_t r = 0; r < story.P; ++r)
          EXPECT_TRUE(r == victim || ends.contains(NodeId(r)))
              << collective.name << ": node " << r << " did not end when " << victim << " died";
      }
    }
  }
}

// Without its part, no all-reduce can complete.
TEST(Loss, OfAMemberThatNeverTookPartLeavesNobodyWithASum) {
  for (const Collective& collective : collectives()) {
    if (!collective.whole) continue;
    for (std::uint32_t victim = 0; victim < 6; ++victim) {
      Story story;
      story.victim = NodeId(victim);
      story.dies_after = 5ms;
      story.takes_part = false;
      for (const auto& [node, end] : tell(collective, story))
        EXPECT_NE(static_cast<int>(end), static_cast<int>(End::Done))
            << collective.name << ": node " << node.value() << " without " << victim;
    }
  }
}

}  // namespace
}  // namespace shoal
