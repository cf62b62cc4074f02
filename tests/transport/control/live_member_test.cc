// A job's membership with real sockets, the real clock, and processes that are tasks of one loop,
// so that each can be ended at any moment. The protocol's behaviour under all kinds of faults is
// simulated (tests/membership); this tests it over real links.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "membership/coordinator.h"
#include "membership/embedded_store.h"
#include "membership/member.h"
#include "runtime/live/live_env.h"
#include "runtime/live/loop.h"
#include "runtime/task_group.h"
#include "transport/control/tcp_control.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::uint32_t kNodes = 3;
constexpr std::uint32_t kLauncher = 100;

// Represents a process: its own net, and tasks that end together. Its links break when it ends.
struct LiveProcess {
  explicit LiveProcess(LiveLoop& loop) : group(loop.context()) {}
  std::unique_ptr<TcpControlNet> net;
  JobMember* member = nullptr;
  std::shared_ptr<LiveMembership> life;
  std::string error;
  TaskGroup group;
};

class LiveMember : public testing::Test {
 protected:
  JobOptions job() {
    JobOptions options;
    options.view.expected = kNodes;
    options.view.form_limit = 30s;
    options.log = [this](const std::string& line) { log_ += line + "\n"; };
    return options;
  }
  LiveProcess& process(std::uint32_t slot) {
    processes_[slot] = std::make_unique<LiveProcess>(loop_);
    const TcpControlOptions options{.token = token_};
    processes_[slot]->net = std::make_unique<TcpControlNet>(loop_, options);
    return *processes_[slot];
  }
  ProcessInfo info() {
    ProcessInfo info;
    info.host = "here";
    info.process = static_cast<std::uint32_t>(++instances_);
    info.instance = instances_;
    return info;
  }
  // Node `slot`; without an address it shares the store, and may coordinate.
  void start(std::uint32_t slot, const std::string& coordinator) {
    LiveProcess& made = process(slot);
    MemberOptions options;
    options.job = job();
    options.node = NodeId(slot);
    options.process = info();
    options.coordinator = coordinator;
    made.group.spawn(program(made, std::move(options)));
  }
  Task<void> program(LiveProcess& process, MemberOptions options) {
    Store* const store = options.coordinator.empty() ? &store_ : nullptr;
    JobMember member(env_, *process.net, store, std::move(options));
    process.member = &member;
    try {
      co_await race(member.run(), live(process, member));
    } catch (const Cancelled&) {
      process.member = nullptr;
      throw;
    } catch (const Error& error) {
      process.error = error.what();
    }
    process.member = nullptr;
  }
  Task<void> live(LiveProcess& process, JobMember& member) {
    while (true) {
      process.life = co_await member.join();
      Generation generation;
      try {
        while (true) {
          const ViewPtr view = co_await process.life->after(generation);
          generation = view->generation;
        }
      } catch (const Fenced&) {
      }
    }
  }
  Task<void> end(std::uint32_t slot) {
    const std::unique_ptr<LiveProcess> process = std::move(processes_.at(slot));
    processes_.erase(slot);
    process->group.cancel();
    co_await process->group.join();
  }
  Task<void> end_all() {
    while (!processes_.empty()) co_await end(processes_.begin()->first);
  }

  // Waits until all nodes see one view of exactly `lives`, as describe() prints them.
  Task<void> until_seen(std::string lives) {
    while (!seen(lives)) co_await env_.sleep(1ms);
  }
  bool seen(const std::string& lives) {
    for (const auto& [slot, process] : processes_) {
      if (slot == kLauncher) continue;
      const std::shared_ptr<LiveMembership>& life = process->life;
      if (life == nullptr || !describe(life->now()).ends_with(": " + lives)) return false;
    }
    return true;
  }
  void run(Task<void> story) { run_task(loop_, limited(std::move(story))); }
  Task<void> limited(Task<void> story) {
    const bool ended = co_await timeout(env_, 60s, std::move(story));
    EXPECT_TRUE(ended) << "the story hangs:\n" << log_;
    co_await end_all();
  }

  JobToken token_ = JobToken::random();
  LiveLoop loop_;
  LiveEnv env_{loop_, LiveEnvOptions()};
  EmbeddedStore store_{env_};
  std::string log_;
  std::uint64_t instances_ = 0;
  std::map<std::uint32_t, std::unique_ptr<LiveProcess>> processes_;
};

TEST_F(LiveMember, ViewsLossAndReturnUnderOneCoordinator) {
  const auto story = [&]() -> Task<void> {
    LiveProcess& launcher = process(kLauncher);
    std::optional<TermEnd> end_of_term;
    const auto serve = [&](TcpControlNet& net) -> Task<void> {
      end_of_term = co_await coordinate(env_, net, store_, job(), info());
    };
    launcher.group.spawn(serve(*launcher.net));
    for (std::uint32_t slot = 0; slot < kNodes; ++slot) start(slot, launcher.net->address());
    co_await until_seen("0.1 1.1 2.1");
    co_await end(1);
    co_await until_seen("0.1 2.1");
    EXPECT_THAT(log_, HasSubstr("node 1 out (connection lost)"));
    start(1, launcher.net->address());
    co_await until_seen("0.1 1.2 2.1");
    for (std::uint32_t slot = 0; slot < kNodes; ++slot) processes_.at(slot)->life->leave();
    while (!end_of_term) co_await env_.sleep(1ms);
    EXPECT_EQ(end_of_term, TermEnd::AllLeft);
    for (std::uint32_t slot = 0; slot < kNodes; ++slot) {
      co_await processes_.at(slot)->group.join();
      EXPECT_EQ(processes_.at(slot)->error, "");
    }
  };
  run(story());
}

TEST_F(LiveMember, LossOfTheOnlyCoordinatorIsSaid) {
  const auto story = [&]() -> Task<void> {
    LiveProcess& launcher = process(kLauncher);
    const std::string address = launcher.net->address();
    const auto serve = [&](TcpControlNet& net) -> Task<void> {
      co_await coordinate(env_, net, store_, job(), info());
    };
    launcher.group.spawn(serve(*launcher.net));
    for (std::uint32_t slot = 0; slot < kNodes; ++slot) start(slot, address);
    co_await until_seen("0.1 1.1 2.1");
    co_await end(kLauncher);
    for (std::uint32_t slot = 0; slot < kNodes; ++slot) {
      co_await processes_.at(slot)->group.join();
      EXPECT_THAT(processes_.at(slot)->error,
                  AllOf(HasSubstr("lost the coordinator at " + address), HasSubstr("etcd")));
    }
  };
  run(story());
}

TEST_F(LiveMember, TheCoordinatorsEndIsTakenOver) {
  const auto story = [&]() -> Task<void> {
    for (std::uint32_t slot = 0; slot < kNodes; ++slot) start(slot, "");
    co_await until_seen("0.1 1.1 2.1");
    std::uint32_t coordinator = 0;
    while (!processes_.at(coordinator)->member->coordinates()) ++coordinator;
    std::string lives;
    for (std::uint32_t slot = 0; slot < kNodes; ++slot) {
      if (slot == coordinator) continue;
      lives += fmt::format("{}{}.1", lives.empty() ? "" : " ", slot);
    }
    const Time killed = env_.now();
    co_await end(coordinator);
    co_await until_seen(lives);
    fmt::print("a new view {:.1f} ms after the coordinator's end\n",
               seconds(env_.now() - killed) * 1e3);
    start(coordinator, "");
    while (processes_.at(coordinator)->life == nullptr) co_await env_.sleep(1ms);
    EXPECT_EQ(processes_.at(coordinator)->life->incarnation(), Incarnation(2));
    EXPECT_EQ(processes_.at(coordinator)->life->now().size(), kNodes);
  };
  run(story());
}

}  // namespace
}  // namespace shoal
