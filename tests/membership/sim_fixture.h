// A simulated job for tests that tell stories of it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "membership/coordinator.h"
#include "membership/sim_control.h"
#include "membership/sim_node.h"

namespace shoal {

inline constexpr Slot kLauncher = 50;

class TestJob {
 public:
  explicit TestJob(std::size_t expected) : nodes_(kLauncher), expected_(expected), sim_(Seed(11)) {
    sim_.latency_max = std::chrono::milliseconds(1);
    sim_.start(*sim_.find(kStoreSlot), follow_store(sim_, history_, JobOptions().prefix + "view"));
  }

  SimJob& sim() { return sim_; }
  History& history() { return history_; }
  SimNode& node(Slot slot) { return nodes_[slot]; }
  SimProcess& process(Slot slot) { return *nodes_[slot].process; }
  const std::vector<std::string>& log() const { return log_; }

  MemberOptions options_for(SimProcess& process) {
    MemberOptions options = member_options(process, expected_);
    options.job.log = [this](const std::string& line) { log_.push_back(line); };
    return options;
  }
  SimProcess& start(Slot slot) {
    SimProcess& process = sim_.create(slot);
    return start(slot, process, options_for(process), true);
  }
  SimProcess& start(Slot slot, SimProcess& process, MemberOptions options, bool with_store) {
    nodes_[slot].process = &process;
    sim_.start(process, node_program(nodes_[slot], history_, std::move(options), with_store));
    return process;
  }
  // The coordinator in a process of its own, which holds the store; members know only its address.
  SimProcess& start_launcher() {
    SimProcess& process = sim_.create(kLauncher);
    sim_.start(process, launcher(process));
    return process;
  }
  SimProcess& start_under_launcher(Slot slot) {
    SimProcess& process = sim_.create(slot);
    MemberOptions options = options_for(process);
    options.coordinator = sim_.find(kLauncher)->net().address();
    return start(slot, process, std::move(options), false);
  }
  void start_all(Slot count) {
    for (Slot slot = 0; slot < count; ++slot) start(slot);
    ASSERT_TRUE(forms(std::chrono::seconds(5), seen_by_all(count))) << describe(history_.last());
  }

  // Runs until every one of these nodes sees a view of exactly them.
  static std::vector<Slot> seen_by_all(Slot count) {
    std::vector<Slot> slots;
    for (Slot slot = 0; slot < count; ++slot) slots.push_back(slot);
    return slots;
  }
  bool forms(Duration limit, const std::vector<Slot>& slots) {
    return sim_.run_until(limit, [&] {
      return std::ranges::all_of(slots, [&](Slot slot) {
        const View* const seen = history_.seen_by(NodeId(slot));
        if (seen == nullptr || seen->size() != slots.size()) return false;
        return std::ranges::all_of(slots, [&](Slot s) { return seen->find(NodeId(s)) != nullptr; });
      });
    });
  }
  Slot coordinator() {
    for (Slot slot = 0; slot < kLauncher; ++slot) {
      const JobMember* const member = nodes_[slot].member;
      if (member != nullptr && member->coordinates()) return slot;
    }
    return kLauncher;
  }
  Incarnation incarnation(Slot slot) { return nodes_[slot].life->incarnation(); }
  std::string all_lines() const {
    std::string all;
    for (const std::string& line : log_) all += line + "\n";
    return all;
  }
  std::optional<TermEnd> launcher_end;

 private:
  Task<void> launcher(SimProcess& process) {
    MemberOptions options = options_for(process);
    launcher_end =
        co_await coordinate(process, process.net(), process.store(), options.job, options.process);
  }

  History history_;
  std::vector<SimNode> nodes_;
  std::vector<std::string> log_;
  std::size_t expected_;
  SimJob sim_;  // last: its programs use the fields above
};

}  // namespace shoal
