// Thousands of jobs with faults drawn from seeds. After each, the network heals, and a view with
// exactly the live processes must form. To replay one seed: SHOAL_MEMBER_SEED=n, see below.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "membership/sim_control.h"
#include "membership/sim_node.h"
#include "support/sample.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr unsigned kSeeds = 200;  // Each takes ten times as long.
#else
constexpr unsigned kSeeds = 2000;
#endif

struct Counts {
  std::map<std::string, unsigned> faults;
  std::size_t views = 0;
  std::size_t fencings = 0;
  std::size_t terms = 0;  // of coordinators
};

class Swarm {
 public:
  Swarm(Seed seed, bool loud) : random_(seed, Purpose::Faults), loud_(loud), job_(seed) {
    job_.latency_max = random_.duration(100us, 20ms);
    job_.same_addresses = random_.chance(0.5);
    nodes_.resize(random_.between(2, 7));
    MemberOptions defaults;
    keys_ = JobKeys(defaults.job.prefix);
    job_.start(*job_.find(kStoreSlot), follow_store(job_, history_, keys_.view));
  }

  std::string run(Counts& counts) {
    for (Slot slot = 0; slot < nodes_.size(); ++slot)
      job_.at(random_.duration(1us, 500ms), [this, slot] { start(slot); });
    const std::uint64_t faults = random_.between(1, 10);
    for (std::uint64_t i = 0; i < faults; ++i)
      job_.at(from_seconds(random_.uniform() * 8), [this, &counts] { strike(counts); });
    job_.run_for(8s);
    note("heals");
    job_.heal_all();
    healing_ = true;
    restart_the_failed();
    const Time deadline = job_.now() + 20s;
    do {
      if (!history_.violation().empty()) return history_.violation();
      if (job_.now() > deadline) return "did not settle within 20 s: " + standing();
      job_.run_for(100ms);
    } while (!settled());
    const Generation generation = history_.last().generation;
    job_.run_for(2s);
    if (!history_.violation().empty()) return history_.violation();
    if (!settled() || history_.last().generation != generation)
      return "settled, and did not stay so: " + standing();
    counts.views += history_.views();
    counts.fencings += history_.fencings();
    counts.terms += terms_;
    return {};
  }

 private:
  void note(const std::string& line) const {
    if (loud_) fmt::print("{:9.4f} {}\n", seconds(job_.now()), line);
  }

  void start(Slot slot) {
    if (job_.find(slot) != nullptr) return;
    SimProcess& process = job_.create(slot);
    nodes_[slot].process = &process;
    MemberOptions options = member_options(process, nodes_.size());
    options.job.log = [this, slot](const std::string& line) {
      note(fmt::format("p{}: {}", slot, line));
      terms_ += line.find(" coordinates job ") != std::string::npos ? 1 : 0;
    };
    note(fmt::format("p{} starts, instance {}", slot, process.instance()));
    job_.start(process, node_program(nodes_[slot], history_, std::move(options), true));
  }

  // Removes programs that ended (evicted or left), and may restart them.
  void restart_the_failed() {
    for (Slot slot = 0; slot < nodes_.size(); ++slot) {
      SimProcess* const process = job_.find(slot);
      if (process == nullptr || process->running()) continue;
      note(fmt::format("p{} ended: {}", slot, process->error()));
      job_.crash(slot);
      start(slot);
    }
    job_.at(500ms, [this] { restart_the_failed(); });
  }

  void strike(Counts& counts) {
    const auto slot = static_cast<Slot>(random_.below(nodes_.size()));
    const auto other = static_cast<Slot>(random_.below(nodes_.size()));
    const Duration length = random_.duration(200ms, 4s);
    const bool alive = job_.find(slot) != nullptr;
    switch (random_.below(9)) {
      case 0:
      case 1:
        if (!alive) return;
        ++counts.faults["crash"];
        note(fmt::format("p{} crashes", slot));
        job_.crash(slot);
        return come_back(slot);
      case 2:
        if (!alive) return;
        ++counts.faults["power loss"];
        note(fmt::format("p{} loses power", slot));
        job_.power_loss(slot);
        return come_back(slot);
      case 3:
        if (!alive || job_.frozen(slot)) return;
        ++counts.faults["freeze"];
        note(fmt::format("p{} freezes for {:.3f} s", slot, seconds(length)));
        job_.freeze(slot);
        return job_.at(length, [this, slot] { job_.thaw(slot); });
      case 4: {
        ++counts.faults["cut"];
        const bool both = random_.chance(0.7);
        note(fmt::format("p{} to p{} cut{} for {:.3f} s", slot, other, both ? " both ways" : "",
                         seconds(length)));
        cut(slot, other, length);
        if (both) cut(other, slot, length);
        return;
      }
      case 5:
        ++counts.faults["isolated"];
        note(fmt::format("p{} is cut off for {:.3f} s", slot, seconds(length)));
        for (Slot peer = 0; peer < nodes_.size(); ++peer) {
          if (peer == slot) continue;
          cut(slot, peer, length);
          cut(peer, slot, length);
        }
        if (random_.chance(0.5)) return;
        cut(slot, kStoreSlot, length);
        return cut(kStoreSlot, slot, length);
      case 6:
        ++counts.faults["store cut"];
        note(fmt::format("p{} and the store cut for {:.3f} s", slot, seconds(length)));
        cut(slot, kStoreSlot, length);
        return cut(kStoreSlot, slot, length);
      case 7:
        if (job_.frozen(kStoreSlot)) return;
        ++counts.faults["store away"];
        note(fmt::format("the store is away for {:.3f} s", seconds(length)));
        job_.freeze(kStoreSlot);
        return job_.at(length, [this] { job_.thaw(kStoreSlot); });
      default:
        if (!alive || nodes_[slot].life == nullptr || job_.frozen(slot)) return;
        if (random_.chance(0.5)) {
          ++counts.faults["leave"];
          note(fmt::format("p{} leaves", slot));
          job_.within(slot, [life = nodes_[slot].life] { life->leave(); });
        } else {
          ++counts.faults["accusation"];
          note(fmt::format("p{} accuses p{}", slot, other));
          job_.within(slot, [life = nodes_[slot].life, other] {
            life->suspect(NodeId(other), "its data connection broke");
          });
        }
    }
  }

  void come_back(Slot slot) {
    if (random_.chance(0.7))
      job_.at(random_.duration(1ms, 3s), [this, slot] {
        if (!healing_) start(slot);
      });
  }

  void cut(Slot from, Slot to, Duration length) {
    job_.cut(from, to);
    job_.at(length, [this, from, to] { job_.heal(from, to); });
  }

  bool settled() {
    std::vector<Slot> live;
    unsigned coordinators = 0;
    for (Slot slot = 0; slot < nodes_.size(); ++slot) {
      if (job_.find(slot) == nullptr) continue;
      live.push_back(slot);
      if (nodes_[slot].member == nullptr) return false;
      coordinators += nodes_[slot].member->coordinates() ? 1 : 0;
      const View* const seen = history_.seen_by(NodeId(slot));
      if (seen == nullptr || *seen != history_.last()) return false;
    }
    if (live.empty()) return true;
    if (coordinators != 1 || history_.last().size() != live.size()) return false;
    for (const Slot slot : live) {
      if (history_.last().find(NodeId(slot)) == nullptr) return false;
    }
    return true;
  }

  std::string standing() {
    std::string text = describe(history_.last()) + " in the store";
    for (Slot slot = 0; slot < nodes_.size(); ++slot) {
      if (job_.find(slot) == nullptr) continue;
      const View* const seen = history_.seen_by(NodeId(slot));
      const JobMember* const member = nodes_[slot].member;
      text += fmt::format("; p{} {}{}", slot, seen == nullptr ? "has no life" : describe(*seen),
                          member != nullptr && member->coordinates() ? ", coordinates" : "");
    }
    return text;
  }

  Random random_;
  bool loud_;
  std::size_t terms_ = 0;
  bool healing_ = false;  // no new faults, and no restarts
  std::vector<SimNode> nodes_;
  History history_;
  JobKeys keys_{""};
  SimJob job_;  // last: its programs use the fields above
};

TEST(MemberSwarm, HealsToOneViewOfAllThatLive) {
  const char* const only = std::getenv("SHOAL_MEMBER_SEED");
  const char* const count = std::getenv("SHOAL_MEMBER_SEEDS");
  const Sample::Block share = Sample().block_of(count != nullptr ? std::stoull(count) : kSeeds);
  const std::uint64_t first = only != nullptr ? std::stoull(only) : 1 + share.begin;
  const std::uint64_t seeds = only != nullptr ? 1 : share.size();
  Counts counts;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    Swarm swarm(Seed(seed), only != nullptr);
    const std::string violation = swarm.run(counts);
    ASSERT_EQ(violation, "") << "replay: SHOAL_MEMBER_SEED=" << seed << " member_swarm_test";
  }
  if (only != nullptr) return;
  for (const char* fault : {"crash", "power loss", "freeze", "cut", "isolated", "store cut",
                            "store away", "leave", "accusation"})
    EXPECT_GT(counts.faults[fault], seeds / 30) << fault;
  EXPECT_GT(counts.views, seeds * 2);
  EXPECT_GT(counts.fencings, seeds / 4);
  EXPECT_GT(counts.terms, seeds * 3 / 2);
  fmt::print("{} views, {} fencings, {} terms of office\n", counts.views, counts.fencings,
             counts.terms);
}

}  // namespace
}  // namespace shoal
