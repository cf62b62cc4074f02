// Real processes that are killed, frozen and cut off. No test here asserts a time: each prints its
// times, and tools/failure-times compares the medians with the promised ones.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <random>
#include <set>
#include <thread>

#include "live/job.h"
#include "support/etcd_server.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

// The number of strikes per test; tools/failure-times raises it.
int strikes(int usual) {
  const char* const asked = std::getenv("SHOAL_STRIKES");
  return asked == nullptr ? usual : std::atoi(asked);
}

void print_times(const std::string& what, std::vector<Nanoseconds> took) {
  ASSERT_FALSE(took.empty());
  std::ranges::sort(took);
  std::printf("[ measured ] %s: %zu times, median %.1f ms, worst %.1f ms\n", what.c_str(),
              took.size(), static_cast<double>(took[took.size() / 2]) / 1e6,
              static_cast<double>(took.back()) / 1e6);
}

// All ranks that have finished have the same parameters.
void expect_equal_ends(const LiveJob& job, std::uint32_t ranks) {
  std::optional<std::string> hash;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    const RankLog log = job.log(r);
    ASSERT_TRUE(log.done.has_value()) << "rank " << r << "\n" << job.output();
    EXPECT_EQ(*log.done, hash.value_or(*log.done)) << "rank " << r;
    hash = log.done;
  }
}

// No rank makes a step twice, and none is left out by all: a restarted rank continues at the
// others' step.
void expect_every_step_once(const LiveJob& job, std::uint32_t ranks) {
  std::set<std::uint64_t> made;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    std::optional<std::uint64_t> before;
    for (const LiveStep& s : job.log(r).steps) {
      EXPECT_TRUE(!before || s.step > *before)
          << "rank " << r << " made step " << s.step << " again\n"
          << job.output();
      before = s.step;
      made.insert(s.step);
    }
  }
  ASSERT_FALSE(made.empty());
  EXPECT_EQ(made.size(), *made.rbegin() + 1) << "a step was left out";
}

class Killed : public testing::TestWithParam<const char*> {
 protected:
  LiveJobOptions options() const {
    LiveJobOptions o;
    o.rank = {"--transports", GetParam(), "--dimensions", "20000", "--batch", "32"};
    return o;
  }
};
INSTANTIATE_TEST_SUITE_P(Transports, Killed, testing::Values("shm", "ucx"));

// Kills ranks repeatedly, at random moments.
void kill_and_recover(const LiveJobOptions& options, int times, const std::string& what) {
  LiveJob job(options);
  std::mt19937 random(7);
  std::vector<Nanoseconds> took;
  for (int strike = 0; strike < times; ++strike) {
    ASSERT_TRUE(job.eventually([&] { return job.all_in_step(); })) << job.output();
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 150));
    const std::uint32_t victim = random() % 4;
    const pid_t pid = job.pid(victim);
    const Nanoseconds since = monotonic_now();
    ASSERT_EQ(kill(pid, SIGKILL), 0);
    ASSERT_TRUE(job.eventually([&] { return job.recovered(since, victim).has_value(); }))
        << job.output();
    took.push_back(*job.recovered(since, victim) - since);
  }
  ASSERT_TRUE(job.eventually([&] { return job.all_in_step(); })) << job.output();
  expect_every_step_once(job, 4);
  print_times(what, took);
}

TEST_P(Killed, SurvivorsMakeTheNextStepAndTheKilledComesBack) {
  kill_and_recover(options(), strikes(4), std::string("SIGKILL, ") + GetParam());
}

// Four megabytes of gradients a step and hardly any computation: most moments are during a
// transfer.
TEST_P(Killed, AlsoInsideATransfer) {
  LiveJobOptions o = options();
  o.rank = {"--transports", GetParam(), "--dimensions", "1000000", "--batch", "4"};
  kill_and_recover(o, strikes(3), std::string("SIGKILL inside transfers, ") + GetParam());
}

TEST_P(Killed, AlsoInTheFirstSecond) {
  std::mt19937 random(8);
  for (int strike = 0; strike < strikes(3); ++strike) {
    LiveJobOptions o = options();
    o.steps = 200;
    LiveJob job(o);
    const std::uint32_t victim = random() % 4;
    ASSERT_TRUE(job.eventually([&] { return !job.log(victim).pids.empty(); })) << job.output();
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 300));
    kill(job.log(victim).pids.front(), SIGKILL);
    EXPECT_EQ(job.wait(), 0) << job.output();
    expect_equal_ends(job, 4);
  }
}

TEST_P(Killed, AFrozenRankIsEvictedAndRejoinsWhenItThaws) {
  LiveJob job(options());
  std::vector<Nanoseconds> took;
  for (int strike = 0; strike < strikes(2); ++strike) {
    ASSERT_TRUE(job.eventually([&] { return job.all_in_step(); })) << job.output();
    const std::uint32_t victim = 1 + static_cast<std::uint32_t>(strike) % 3;
    const std::size_t fenced = job.log(victim).fenced.size();
    const pid_t pid = job.pid(victim);
    const Nanoseconds since = monotonic_now();
    ASSERT_EQ(kill(pid, SIGSTOP), 0);
    const bool others = job.eventually([&] { return job.recovered(since, victim).has_value(); });
    kill(pid, SIGCONT);
    ASSERT_TRUE(others) << job.output();
    took.push_back(*job.recovered(since, victim) - since);
    ASSERT_TRUE(job.eventually([&] { return job.log(victim).fenced.size() > fenced; }))
        << job.output();
    EXPECT_EQ(job.pid(victim), pid) << "it rejoins in the same process";
  }
  ASSERT_TRUE(job.eventually([&] { return job.all_in_step(); })) << job.output();
  print_times(std::string("SIGSTOP, ") + GetParam(), took);
}

// It finds the result that the others have left.
TEST_P(Killed, ARankThatComesBackWhenAllOthersHaveLeftFinishesToo) {
  LiveJobOptions o = options();
  o.steps = 30;
  LiveJob job(o);
  ASSERT_TRUE(job.eventually([&] { return !job.log(3).steps.empty(); })) << job.output();
  kill(job.pid(3), SIGKILL);
  EXPECT_EQ(job.wait(), 0) << job.output();
  expect_equal_ends(job, 4);
}

// Rank 2 lives, and does nothing: the ranks that wait for it report that, and its last message.
TEST_P(Killed, AHangIsReportedWithWhoIsMissingAndWhy) {
  LiveJobOptions o = options();
  o.rank.insert(o.rank.end(), {"--hang-rank", "2"});
  LiveJob job(o);
  const std::string why = "asked node 2 what it does: it waits for nobody";
  ASSERT_TRUE(job.eventually([&] { return job.output().find(why) != std::string::npos; }))
      << job.output();
  const std::string text = job.output();
  EXPECT_NE(text.find("from node 2: group 1 generation 1 id"), std::string::npos) << text;
  EXPECT_NE(text.find("stalled for 4"), std::string::npos) << text;
}

TEST_P(Killed, AJobWithoutFaultsEndsWithEqualParameters) {
  LiveJobOptions o = options();
  o.steps = 100;
  LiveJob job(o);
  EXPECT_EQ(job.wait(), 0) << job.output();
  expect_equal_ends(job, 4);
}

// The coordinator, according to the log of the member with the store.
std::optional<std::uint32_t> coordinator_of(const LiveJob& job) {
  const std::string text = job.output();
  std::optional<std::uint32_t> rank;
  std::size_t at = 0;
  const std::string mark = " coordinates job ";
  while ((at = text.find(mark, at)) != std::string::npos) {
    const std::size_t node = text.rfind("shoal: node ", at);
    if (node != std::string::npos)
      rank = static_cast<std::uint32_t>(std::stoul(text.substr(node + 12)));
    at += mark.size();
  }
  return rank;
}

TEST(WithEtcd, TheCoordinatorsProcessIsKilledAgainAndAgain) {
  EtcdServers etcd(1);
  LiveJobOptions o;
  o.launch = {"--restart", "1000", "--store", etcd.endpoints()};
  o.rank = {"--dimensions", "20000", "--batch", "32"};
  LiveJob job(o);
  std::vector<Nanoseconds> took;
  for (int strike = 0; strike < strikes(2); ++strike) {
    ASSERT_TRUE(job.eventually([&] { return job.all_in_step(); })) << job.output();
    const std::optional<std::uint32_t> victim = coordinator_of(job);
    ASSERT_TRUE(victim.has_value()) << job.output();
    const Nanoseconds since = monotonic_now();
    ASSERT_EQ(kill(job.pid(*victim), SIGKILL), 0);
    ASSERT_TRUE(job.eventually([&] { return job.recovered(since, *victim).has_value(); }))
        << job.output();
    took.push_back(*job.recovered(since, *victim) - since);
  }
  ASSERT_TRUE(job.eventually([&] { return job.all_in_step(); })) << job.output();
  print_times("the coordinator's process, etcd", took);
}

TEST(WithEtcd, TrainingDoesNotNoticeThatEtcdRestartsOrLosesAMember) {
  EtcdServers etcd(3);
  LiveJobOptions o;
  o.launch = {"--store", etcd.endpoints()};
  o.rank = {"--dimensions", "20000", "--batch", "32"};
  LiveJob job(o);
  ASSERT_TRUE(job.eventually([&] { return job.all_in_step(); })) << job.output();
  const std::size_t views = job.log(0).views.size();
  const auto goes_on = [&] {
    const std::uint64_t step = job.log(0).steps.back().step;
    return job.eventually([&] { return job.log(0).steps.back().step > step + 20; });
  };
  etcd.stop(0, SIGKILL);
  EXPECT_TRUE(goes_on()) << job.output();
  std::this_thread::sleep_for(3s);  // Longer than any lease that others hold against it.
  etcd.start(0);
  for (std::size_t i = 0; i < 3; ++i) {
    etcd.stop(i);
    EXPECT_TRUE(goes_on()) << job.output();
    etcd.start(i);
  }
  EXPECT_TRUE(goes_on()) << job.output();
  EXPECT_EQ(job.log(0).views.size(), views) << "no view has changed\n" << job.output();
}

}  // namespace
}  // namespace shoal
