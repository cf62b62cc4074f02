#include "runtime/membership.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness.h"

namespace shoal {
namespace {

using ::testing::ElementsAre;

class FakeMembership final : public Membership {
 public:
  void suspect(NodeId, const std::string&) override {}
  void end_job(Ending, const std::string&) override {}
  void leave() override {}
  void view(std::uint32_t generation) {
    View view;
    view.generation = Generation(generation);
    learn(std::make_shared<const View>(std::move(view)));
  }
  void fence(const std::string& why) { learn_fenced(why); }
  std::vector<std::string> failures;

 private:
  void failed(const std::string& why) override { failures.push_back(why); }
};

class MembershipTest : public RuntimeTest {
 protected:
  Task<> wait_after(std::uint32_t generation) {
    const ViewPtr view = co_await membership.after(Generation(generation));
    seen.push_back(view->generation.value());
  }
  FakeMembership membership;
  std::vector<std::uint32_t> seen;
};

TEST_F(MembershipTest, FailsByAnErrorOfItsOwnAndNotByBeingCancelledOrFenced) {
  membership.fail(std::make_exception_ptr(Cancelled()));
  membership.fail(std::make_exception_ptr(Fenced("evicted")));
  EXPECT_THAT(membership.failures, ElementsAre());
  membership.fail(std::make_exception_ptr(DataError("no space left\nHint: make some")));
  EXPECT_THAT(membership.failures, ElementsAre("no space left"));
  membership.fence("evicted");
  membership.fail("too late");
  EXPECT_THAT(membership.failures, ElementsAre("no space left"));
}

TEST_F(MembershipTest, KnowsNoViewAtFirst) {
  EXPECT_EQ(membership.now().generation, Generation(0));
  EXPECT_EQ(membership.now().size(), 0U);
}

TEST_F(MembershipTest, AfterGivesTheNextViewAtOnceOrWhenItComes) {
  Watched& early = start(wait_after(0));
  EXPECT_FALSE(early.done());
  membership.view(3);
  run();
  EXPECT_TRUE(early.ok());
  EXPECT_TRUE(start(wait_after(2)).ok());
  Watched& late = start(wait_after(3));
  EXPECT_FALSE(late.done());
  membership.view(4);
  run();
  EXPECT_TRUE(late.ok());
  EXPECT_THAT(seen, ElementsAre(3, 3, 4));
}

TEST_F(MembershipTest, OldNewsIsNoNews) {
  membership.view(5);
  Watched& waiting = start(wait_after(5));
  membership.view(5);
  membership.view(4);
  run();
  EXPECT_FALSE(waiting.done());
  EXPECT_EQ(membership.now().generation, Generation(5));
  membership.view(9);
  run();
  EXPECT_THAT(seen, ElementsAre(9));
}

TEST_F(MembershipTest, SeveralWaitForDifferentViews) {
  Watched& one = start(wait_after(0));
  Watched& two = start(wait_after(1));
  membership.view(1);
  run();
  EXPECT_TRUE(one.ok());
  EXPECT_FALSE(two.done());
  membership.view(2);
  run();
  EXPECT_TRUE(two.ok());
}

TEST_F(MembershipTest, FencedEndsEveryWaitNowAndLater) {
  membership.view(1);
  Watched& waiting = start(wait_after(1));
  membership.fence("node 3.1 was silent for 2 s");
  run();
  EXPECT_EQ(waiting.error(), "node 3.1 was silent for 2 s");
  membership.fence("another reason");
  membership.view(2);
  EXPECT_EQ(start(wait_after(0)).error(), "node 3.1 was silent for 2 s") << "the first counts";
  EXPECT_TRUE(seen.empty());
}

TEST_F(MembershipTest, FencedIsAnErrorOfItsOwn) {
  membership.fence("evicted");
  bool fenced = false;
  start([](Membership& m, bool& out) -> Task<> {
    try {
      co_await m.after(Generation(0));
    } catch (const Fenced&) {
      out = true;
    }
  }(membership, fenced));
  EXPECT_TRUE(fenced);
}

TEST_F(MembershipTest, ACancelledWaitEnds) {
  Watched& waiting = start(wait_after(0));
  waiting.cancel();
  run();
  EXPECT_EQ(waiting.error(), "cancelled");
}

}  // namespace
}  // namespace shoal
