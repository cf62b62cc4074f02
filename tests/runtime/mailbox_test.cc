#include "runtime/mailbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "base/random.h"
#include "mailbox_harness.h"

namespace shoal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(MailboxTest, AMessageWaitsForItsReceiveAndAReceiveForItsMessage) {
  deliver(1, tag(5));
  EXPECT_TRUE(receive("a", from(1, tag(5))).ok());
  Watched& late = receive("b", from(1, tag(6)));
  EXPECT_FALSE(late.done());
  deliver(1, tag(6));
  EXPECT_THAT(log, ElementsAre("a<-1", "b<-2"));
}

TEST_F(MailboxTest, MatchesInOrderOfArrivalAndOfPosting) {
  deliver(1, tag(5));
  deliver(1, tag(5));
  receive("a", from(1, tag(5)));
  receive("b", from(1, tag(5)));
  receive("c", from(1, tag(5)));
  receive("d", from(1, tag(5)));
  deliver(1, tag(5));
  deliver(1, tag(5));
  EXPECT_THAT(log, ElementsAre("a<-1", "b<-2", "c<-3", "d<-4"));
}

TEST_F(MailboxTest, SenderGroupGenerationAndIdMustAllAgree) {
  Watched& waiting = receive("a", from(1, tag(5, 2, 3)));
  deliver(2, tag(5, 2, 3));
  deliver(1, tag(6, 2, 3));
  deliver(1, tag(5, 1, 3));
  deliver(1, tag(5, 2, 4));
  EXPECT_FALSE(waiting.done());
  deliver(1, tag(5, 2, 3));
  EXPECT_THAT(log, ElementsAre("a<-5"));
}

TEST_F(MailboxTest, AnyoneTakesTheFirstFromWhomever) {
  deliver(7, tag(5));
  deliver(3, tag(5));
  receive("a", anyone(tag(5)));
  receive("b", anyone(tag(5)));
  receive("c", anyone(tag(5)));
  deliver(1, tag(5));
  EXPECT_THAT(log, ElementsAre("a<-1", "b<-2", "c<-3"));
}

TEST_F(MailboxTest, AReceiveFromAnyonePostedFirstIsServedFirst) {
  receive("any", anyone(tag(5)));
  receive("one", from(1, tag(5)));
  deliver(1, tag(5));
  deliver(1, tag(5));
  EXPECT_THAT(log, ElementsAre("any<-1", "one<-2"));
}

TEST_F(MailboxTest, TheMaskChoosesTheBitsThatCount) {
  Match low_byte = from(1, tag(0x07));
  low_byte.mask = 0xff;
  Watched& waiting = receive("a", low_byte);
  deliver(1, tag(0x1208));
  EXPECT_FALSE(waiting.done());
  deliver(1, tag(0x3407));
  Match everything = anyone(tag(99));
  everything.mask = 0;
  receive("b", everything);
  EXPECT_THAT(log, ElementsAre("a<-2", "b<-1"));
}

TEST_F(MailboxTest, ACancelledReceiveTakesNothing) {
  Watched& cancelled = receive("a", from(1, tag(5)));
  Watched& other = receive("b", from(1, tag(5)));
  cancelled.cancel();
  deliver(1, tag(5));
  EXPECT_EQ(cancelled.error(), "cancelled");
  EXPECT_TRUE(other.ok());
  EXPECT_THAT(log, ElementsAre("b<-1"));
}

TEST_F(MailboxTest, AMessageThatItsSenderTookBackIsSkipped) {
  deliver(1, tag(5));
  deliver(1, tag(5));
  endpoint.taken_back = {1, 3};
  receive("a", from(1, tag(5)));
  EXPECT_THAT(log, ElementsAre("a<-2"));
  receive("b", from(1, tag(5)));
  deliver(1, tag(5));
  EXPECT_THAT(log, ElementsAre("a<-2")) << "the receive keeps its place";
  deliver(1, tag(5));
  EXPECT_THAT(log, ElementsAre("a<-2", "b<-4"));
  EXPECT_THAT(dropped, ElementsAre("1: cancelled", "3: cancelled"));
}

TEST_F(MailboxTest, RetiringEndsAGenerationAndThoseBefore) {
  deliver(1, tag(5, 1));
  deliver(1, tag(5, 2));
  deliver(1, tag(5, 3));
  deliver(1, tag(5, 0));
  deliver(1, tag(5, 2, 9));
  Watched& old = receive("old", from(2, tag(5, 2)));
  Watched& present = receive("present", from(2, tag(5, 3)));
  mailbox.retire(GroupId(1), Generation(2));
  run();
  EXPECT_EQ(old.error(), "cancelled");
  EXPECT_FALSE(present.done());
  EXPECT_THAT(dropped, ElementsAre("1: retired", "2: retired"));
  deliver(1, tag(5, 2));
  EXPECT_EQ(dropped.back(), "6: retired");
  EXPECT_EQ(receive("late", from(1, tag(5, 2))).error(), "cancelled");
  receive("next", from(1, tag(5, 3)));
  receive("outlives", from(1, tag(5, 0)));
  receive("other group", from(1, tag(5, 2, 9)));
  deliver(2, tag(5, 3));
  EXPECT_THAT(log, ElementsAre("next<-3", "outlives<-4", "other group<-5", "present<-7"));
}

TEST_F(MailboxTest, RetiringNeverGoesBack) {
  mailbox.retire(GroupId(1), Generation(5));
  mailbox.retire(GroupId(1), Generation(3));
  EXPECT_TRUE(mailbox.retired(tag(0, 4)));
  EXPECT_TRUE(mailbox.retired(tag(0, 5)));
  EXPECT_FALSE(mailbox.retired(tag(0, 6)));
  EXPECT_FALSE(mailbox.retired(tag(0, 0)));
}

TEST_F(MailboxTest, ALostPeerFailsItsReceivesNowAndLater) {
  Watched& waiting = receive("a", from(1, tag(5)));
  Watched& other = receive("b", from(2, tag(5)));
  Watched& any = receive("c", anyone(tag(6)));
  mailbox.lose(NodeId(1), Incarnation(1), "connection reset");
  run();
  EXPECT_EQ(waiting.error(), "lost node 1: connection reset");
  EXPECT_EQ(receive("d", from(1, tag(7))).error(), "lost node 1: connection reset");
  EXPECT_FALSE(other.done());
  EXPECT_FALSE(any.done());
  deliver(2, tag(5));
  deliver(2, tag(6));
  EXPECT_TRUE(any.ok());
}

TEST_F(MailboxTest, WhatALostPeerHadSentIsStillReceived) {
  deliver(1, tag(5));
  mailbox.lose(NodeId(1), Incarnation(1), "connection reset");
  EXPECT_TRUE(receive("a", from(1, tag(5))).ok());
  deliver(1, tag(5));
  EXPECT_THAT(dropped, ElementsAre("2: old incarnation"));
  EXPECT_EQ(receive("b", from(1, tag(5))).error(), "lost node 1: connection reset");
}

TEST_F(MailboxTest, TheFirstReasonOfALossCounts) {
  mailbox.adopt(view(1, {{0, 1}, {1, 1}}));
  mailbox.lose(NodeId(1), Incarnation(1), "connection reset");
  mailbox.lose(NodeId(1), Incarnation(1), "heartbeat missing");
  mailbox.adopt(view(2, {{0, 1}}));
  EXPECT_EQ(mailbox.lost(NodeId(1)), "connection reset");
}

TEST_F(MailboxTest, TheLossOfAnEarlierLifeIsOldNews) {
  mailbox.adopt(view(1, {{0, 1}, {1, 2}}));
  Watched& waiting = receive("a", from(1, tag(5)));
  mailbox.lose(NodeId(1), Incarnation(1), "connection reset");
  EXPECT_FALSE(waiting.done());
  EXPECT_EQ(mailbox.lost(NodeId(1)), "");
  deliver(1, tag(5), 2);
  EXPECT_TRUE(waiting.ok());
}

// A regression: the loss of the second life was forgotten because the first was already lost.
TEST_F(MailboxTest, ALifeThatIsLostBeforeItsViewComesStaysLost) {
  mailbox.adopt(view(1, {{0, 1}, {1, 1}}));
  mailbox.lose(NodeId(1), Incarnation(1), "killed");
  mailbox.lose(NodeId(1), Incarnation(2), "killed again");
  mailbox.adopt(view(2, {{0, 1}, {1, 2}}));
  EXPECT_EQ(receive("a", from(1, tag(5))).error(), "lost node 1: killed again");
  mailbox.adopt(view(3, {{0, 1}, {1, 3}}));
  Watched& third = receive("b", from(1, tag(5)));
  EXPECT_FALSE(third.done());
  deliver(1, tag(5), 3);
  EXPECT_TRUE(third.ok());
}

TEST_F(MailboxTest, AMemberThatIsNotInTheNextViewIsLost) {
  mailbox.adopt(view(1, {{0, 1}, {1, 1}, {2, 1}}));
  Watched& waiting = receive("a", from(1, tag(5)));
  mailbox.adopt(view(2, {{0, 1}, {2, 1}}));
  run();
  EXPECT_EQ(waiting.error(), "lost node 1: it is not in view 2");
  EXPECT_EQ(mailbox.lost(NodeId(2)), "");
  EXPECT_TRUE(mailbox.over(NodeId(1), Incarnation(1)));
  EXPECT_FALSE(mailbox.over(NodeId(1), Incarnation(2)));
}

TEST_F(MailboxTest, ANewIncarnationFailsTheReceivesOfTheOldAndBeginsAfresh) {
  mailbox.adopt(view(1, {{0, 1}, {1, 1}}));
  Watched& old = receive("old", from(1, tag(5)));
  deliver(1, tag(9), 1);
  deliver(1, tag(9), 2);  // early: its view has not arrived yet
  mailbox.adopt(view(2, {{0, 1}, {1, 2}}));
  run();
  EXPECT_EQ(old.error(), "lost node 1: it came back as a new incarnation");
  EXPECT_THAT(dropped, ElementsAre("1: old incarnation"));
  receive("new", from(1, tag(9)));
  deliver(1, tag(9), 1);
  EXPECT_THAT(log, ElementsAre("new<-2"));
  EXPECT_EQ(dropped.back(), "3: old incarnation");
  EXPECT_EQ(mailbox.newest(NodeId(1)), Incarnation(2));
}

TEST_F(MailboxTest, AReceivePostedBeforeTheFirstViewSurvivesIt) {
  Watched& early = receive("a", from(1, tag(5)));
  mailbox.adopt(view(1, {{0, 1}, {1, 1}}));
  EXPECT_FALSE(early.done());
  deliver(1, tag(5));
  EXPECT_TRUE(early.ok());
}

TEST_F(MailboxTest, ANodeThatJoinsLaterIsNobodysLoss) {
  mailbox.adopt(view(1, {{0, 1}, {2, 1}}));
  EXPECT_EQ(mailbox.lost(NodeId(1)), "");
  mailbox.adopt(view(2, {{0, 1}, {1, 1}, {2, 1}}));
  Watched& waiting = receive("a", from(1, tag(5)));
  EXPECT_FALSE(waiting.done());
  deliver(1, tag(5));
  EXPECT_TRUE(waiting.ok());
}

TEST_F(MailboxTest, FencedItselfFailsEverything) {
  Watched& one = receive("a", from(1, tag(5)));
  Watched& any = receive("b", anyone(tag(5)));
  EXPECT_EQ(mailbox.waiting().size(), 2U);
  mailbox.fail_all(std::make_exception_ptr(Fenced("evicted")));
  run();
  EXPECT_EQ(one.error(), "evicted");
  EXPECT_EQ(any.error(), "evicted");
  EXPECT_THAT(mailbox.waiting(), IsEmpty());
  EXPECT_FALSE(mailbox.has_receives());
}

TEST_F(MailboxTest, LetsGoOfUnmatchedMessagesWhenItEnds) {
  {
    FakeEndpoint other(dropped);
    other.deliver(NodeId(1), Incarnation(1), tag(5));
  }
  EXPECT_THAT(dropped, ElementsAre("1: receiver gone"));
}

// Compares with the simplest model: two lists, searched from the front. With few entries waiting,
// and with many.
TEST_F(MailboxTest, MatchesLikeTheModelForAnyOrderOfEvents) {
  struct Posted {
    std::string name;
    Match match;
  };
  struct Sent {
    std::uint64_t number;
    NodeId from;
    Tag tag;
  };
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const bool many = seed % 3 == 0;
    Random random(Seed(seed), Purpose::Test);
    std::deque<Posted> receives;
    std::deque<Sent> messages;
    std::vector<std::string> expected;
    FakeEndpoint fresh(dropped);
    std::vector<std::string> got;
    const auto body = [&](std::string name, Match match) -> Task<> {
      const Received r = co_await fresh.recv(match, MutBuf());
      got.push_back(name + "<-" + std::to_string(r.id));
    };
    std::uint64_t sent = 0;
    std::deque<Watched> tasks;
    for (int event = 0; event < (many ? 2000 : 200); ++event) {
      const Tag t = tag(random.below(many ? 40 : 4), static_cast<std::uint32_t>(random.below(2)));
      const NodeId peer(static_cast<std::uint32_t>(1 + random.below(many ? 20 : 3)));
      if (random.chance(0.5)) {
        const bool broad = random.chance(many ? 0.01 : 0.3);
        Match match{random.chance(0.3) ? kAnyone : peer, t, broad ? 1U : kWholeId};
        const std::string name = std::to_string(event);
        const auto hit = std::ranges::find_if(
            messages, [&](const Sent& m) { return match.accepts(m.from, m.tag); });
        if (hit != messages.end()) {
          expected.push_back(name + "<-" + std::to_string(hit->number));
          messages.erase(hit);
        } else {
          receives.push_back(Posted{name, match});
        }
        tasks.emplace_back(executor, body(name, match));
      } else {
        const Sent m{++sent, peer, t};
        const auto hit = std::ranges::find_if(
            receives, [&](const Posted& p) { return p.match.accepts(peer, t); });
        if (hit != receives.end()) {
          expected.push_back(hit->name + "<-" + std::to_string(m.number));
          receives.erase(hit);
        } else {
          messages.push_back(m);
        }
        fresh.deliver(peer, Incarnation(1), t);
      }
      run();
    }
    EXPECT_EQ(got, expected) << "seed " << seed;
    EXPECT_EQ(fresh.mailbox.waiting().size(), receives.size()) << "seed " << seed;
    for (Watched& task : tasks) task.cancel();
    run();
  }
}

}  // namespace
}  // namespace shoal
