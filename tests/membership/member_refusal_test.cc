// How a process's part in a job fails: losses, refusals and malformed messages, and how they are
// reported.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "membership/member.h"
#include "membership/sim_fixture.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

TEST(MemberRefusal, WithoutAStoreTheCoordinatorsLossIsTheEnd) {
  TestJob job(2);
  job.start_launcher();
  for (const Slot slot : {0U, 1U}) job.start_under_launcher(slot);
  ASSERT_TRUE(job.forms(1s, {0, 1}));
  job.sim().crash(kLauncher);
  job.sim().run_for(100ms);
  for (const Slot slot : {0U, 1U}) {
    EXPECT_FALSE(job.process(slot).running());
    EXPECT_THAT(job.process(slot).error(),
                AllOf(HasSubstr("lost the coordinator at p50"), HasSubstr("etcd")));
  }
}

TEST(MemberRefusal, WhoLeavesDoesNotMindThatTheCoordinatorIsGone) {
  TestJob job(2);
  job.start_launcher();
  for (const Slot slot : {0U, 1U}) job.start_under_launcher(slot);
  ASSERT_TRUE(job.forms(1s, {0, 1}));
  job.sim().within(0, [&] { job.node(0).life->leave(); });
  job.sim().crash(kLauncher);
  job.sim().run_for(100ms);
  EXPECT_FALSE(job.process(0).running());
  EXPECT_EQ(job.process(0).error(), "");
}

TEST(MemberRefusal, WithoutAStoreASilentCoordinatorIsTheEndToo) {
  TestJob job(1);
  job.start_launcher();
  job.start_under_launcher(0);
  ASSERT_TRUE(job.forms(1s, {0}));
  job.sim().freeze(kLauncher);
  job.sim().run_for(25s);
  EXPECT_TRUE(job.process(0).running()) << "it may come back";
  job.sim().run_for(30s);
  EXPECT_THAT(job.process(0).error(), HasSubstr("lost the coordinator at p50"));
}

TEST(MemberRefusal, NobodyAtTheGivenAddressIsSaid) {
  TestJob job(1);
  SimProcess& process = job.sim().create(0);
  MemberOptions options = job.options_for(process);
  options.coordinator = "p7";
  job.start(0, process, std::move(options), false);
  job.sim().run_for(29s);
  EXPECT_TRUE(process.running()) << "it may be starting yet";
  job.sim().run_for(2s);
  EXPECT_THAT(process.error(), AllOf(HasSubstr("p7"), HasSubstr("30 s")));
}

TEST(MemberRefusal, ARankGivenTwiceNamesBoth) {
  TestJob job(2);
  job.start_all(2);
  SimProcess& twin = job.sim().create(5);
  MemberOptions options = job.options_for(twin);
  options.node = NodeId(1);
  job.start(5, twin, std::move(options), true);
  job.sim().run_for(2500ms);
  EXPECT_TRUE(twin.running()) << "the other may be dying";
  job.sim().run_for(1s);
  EXPECT_THAT(twin.error(),
              AllOf(HasSubstr("node 1 is process"), HasSubstr("on host1"), HasSubstr("on host5")));
  EXPECT_EQ(job.history().views(), 1U);
}

TEST(MemberRefusal, ARestartedRankWaitsForTheOldOneToDie) {
  TestJob job(3);
  job.start_all(3);
  const Slot victim = job.coordinator() == 1 ? 2 : 1;
  job.sim().power_loss(victim);
  job.start(victim);
  EXPECT_TRUE(job.forms(1500ms, {0, 1, 2}));
  EXPECT_EQ(job.incarnation(victim), Incarnation(2));
}

TEST(MemberRefusal, AnotherJobsProcessIsRefusedAndToldBothNames) {
  TestJob job(1);
  job.start_launcher();
  job.start_under_launcher(0);
  SimProcess& stray = job.sim().create(1);
  MemberOptions options = job.options_for(stray);
  options.coordinator = job.sim().find(kLauncher)->net().address();
  options.job.job = "another";
  job.start(1, stray, std::move(options), false);
  job.sim().run_for(1s);
  EXPECT_THAT(stray.error(), AllOf(HasSubstr("\"job\""), HasSubstr("\"another\"")));
}

Task<void> ask_with_protocol(SimProcess& process, std::string address, std::uint32_t protocol,
                             std::string& answer) {
  Join join;
  join.protocol = protocol;
  const std::unique_ptr<ControlLink> link = co_await process.net().connect(std::move(address));
  link->send(encode(join));
  while (answer.empty()) {
    const std::string bytes = co_await link->receive();
    const Message message = decode(bytes);
    if (const Refused* const refused = std::get_if<Refused>(&message)) answer = refused->why;
  }
}

TEST(MemberRefusal, AnotherProtocolIsRefusedNamingBoth) {
  TestJob job(1);
  job.start_launcher();
  SimProcess& process = job.sim().create(1);
  std::string answer;
  const std::string address = job.sim().find(kLauncher)->net().address();
  job.sim().start(process, ask_with_protocol(process, address, 77, answer));
  job.sim().run_for(1s);
  EXPECT_THAT(answer, AllOf(HasSubstr(fmt::format("version {} of", kMembershipProtocol)),
                            HasSubstr("version 77")));
}

Task<void> put_record(Store& store, std::string key, std::string value) {
  Transaction transaction;
  transaction.then.push_back({.key = std::move(key), .value = std::move(value)});
  co_await store.commit(std::move(transaction));
}

TEST(MemberRefusal, NonsenseInTheStoreIsNamed) {
  TestJob job(1);
  SimProcess& writer = job.sim().create(1);
  job.sim().start(writer, put_record(writer.store(), "shoal/job/coordinator", "no JSON"));
  job.sim().run_for(100ms);
  job.start(0);
  job.sim().run_for(1s);
  EXPECT_THAT(job.process(0).error(), HasSubstr("shoal/job/coordinator"));
}

TEST(MemberRefusal, ASecondLauncherOfTheSameJobIsTold) {
  TestJob job(1);
  job.start_launcher();
  job.sim().run_for(10ms);
  SimProcess& second = job.sim().create(1);
  const MemberOptions options = job.options_for(second);
  const auto run = [](SimProcess& process, MemberOptions o) -> Task<void> {
    co_await coordinate(process, process.net(), process.store(), o.job, o.process);
  };
  job.sim().start(second, run(second, options));
  job.sim().run_for(100ms);
  EXPECT_THAT(second.error(), AllOf(HasSubstr("has a coordinator already"), HasSubstr("p50")));
}

}  // namespace
}  // namespace shoal
