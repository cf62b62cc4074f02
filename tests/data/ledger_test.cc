#include "data/ledger.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/random.h"

namespace shoal {
namespace {

constexpr NodeId kA{1}, kB{2};
constexpr Incarnation kFirst{1}, kSecond{2};

TEST(Ledger, AnEpochIsAPermutationThatDependsOnNobody) {
  Ledger one(Seed(7), 1000), two(Seed(7), 1000);
  const std::vector<SampleId> all = one.samples(Share{0, 0, 1000});
  EXPECT_EQ(std::set<SampleId>(all.begin(), all.end()).size(), 1000U);
  two.deal(kB, kFirst, 17);
  EXPECT_EQ(two.samples(Share{0, 0, 1000}), all);
  EXPECT_NE(one.samples(Share{1, 0, 1000}), all);
  EXPECT_NE(Ledger(Seed(8), 1000).samples(Share{0, 0, 1000}), all);
}

TEST(Ledger, DealsEveryPositionOnceAndBeginsTheNextEpochWhenAllHaveEnded) {
  Ledger ledger(Seed(1), 10);
  const Share a = ledger.deal(kA, kFirst, 6);
  const Share b = ledger.deal(kB, kFirst, 6);
  EXPECT_EQ(a, (Share{0, 0, 6}));
  EXPECT_EQ(b, (Share{0, 6, 4}));
  EXPECT_EQ(ledger.deal(kA, kFirst, 1).n, 0U);
  ledger.settle(a, SampleEnd::Applied);
  EXPECT_EQ(ledger.deal(kA, kFirst, 1).n, 0U);  // b is still out
  ledger.settle(b, SampleEnd::Applied);
  EXPECT_TRUE(ledger.epoch_ended());
  EXPECT_EQ(ledger.left(), 10U);
  EXPECT_EQ(ledger.deal(kA, kFirst, 1), (Share{1, 0, 1}));
}

TEST(Ledger, WhatALostWorkerHadIsDealtAgain) {
  Ledger ledger(Seed(1), 10);
  ledger.deal(kA, kFirst, 3);
  const Share b = ledger.deal(kB, kFirst, 3);
  ledger.deal(kA, kSecond, 2);
  ledger.revoke(kA, kFirst);
  EXPECT_EQ(ledger.deal(kB, kFirst, 9), (Share{0, 0, 3}));
  EXPECT_EQ(ledger.deal(kB, kFirst, 9), (Share{0, 8, 2}));  // a's second life keeps its share
  ledger.settle(b, SampleEnd::Lost);
  EXPECT_EQ(ledger.tally().ended[static_cast<std::size_t>(SampleEnd::Lost)], 3U);
}

TEST(Ledger, EverySampleHasExactlyOneEndWhateverHappens) {
  Random random(Seed(3), Purpose::Test);
  for (int round = 0; round < 200; ++round) {
    Ledger ledger(Seed(1), 97);
    std::vector<int> ends(97, 0);
    std::vector<std::pair<NodeId, Share>> out;
    while (true) {
      const NodeId worker(static_cast<std::uint32_t>(random.below(4)));
      const std::uint64_t dice = random.below(10);
      if (dice < 6) {
        const Share share = ledger.deal(worker, kFirst, random.between(1, 9));
        if (share.epoch > 0) break;
        if (share.n > 0) out.emplace_back(worker, share);
      } else if (dice < 9 && !out.empty()) {
        const std::size_t k = random.below(out.size());
        const Share share = out[k].second;
        ledger.settle(share, static_cast<SampleEnd>(random.below(4)));
        for (std::uint64_t i = 0; i < share.n; ++i) ++ends[share.at + i];
        out.erase(out.begin() + static_cast<std::ptrdiff_t>(k));
      } else {
        ledger.revoke(worker, kFirst);
        std::erase_if(out, [&](const auto& o) { return o.first == worker; });
      }
    }
    for (std::size_t i = 0; i < ends.size(); ++i) ASSERT_EQ(ends[i], 1) << "position " << i;
    const LedgerTally tally = ledger.tally();
    std::uint64_t all = 0;
    for (const std::uint64_t n : tally.ended) all += n;
    EXPECT_EQ(all, 97U);
    EXPECT_EQ(tally.open, 97U);  // in the epoch that the last deal began
  }
}

TEST(Ledger, ItsPlaceRestoresIt) {
  Ledger ledger(Seed(1), 10);
  for (int i = 0; i < 3; ++i) ledger.settle(ledger.deal(kA, kFirst, 4), SampleEnd::Applied);
  EXPECT_EQ(ledger.place(), (LedgerPlace{0, {}, {{0, 10, SampleEnd::Applied}}}));
  ledger.settle(ledger.deal(kA, kFirst, 4), SampleEnd::Applied);
  const LedgerPlace place = ledger.place();
  EXPECT_EQ(place, (LedgerPlace{1, {10}, {{0, 4, SampleEnd::Applied}}}));
  EXPECT_EQ(place.done(), 4U);
  Ledger other(Seed(1), 10);
  other.restore(place);
  EXPECT_EQ(other.place(), place);
  EXPECT_EQ(other.deal(kB, kFirst, 9), ledger.deal(kB, kFirst, 9));
  EXPECT_EQ(other.tally().ended[0], 14U);
}

TEST(Ledger, ItsPlaceKeepsGapsAndHowSamplesEnded) {
  Ledger ledger(Seed(1), 20);
  const Share a = ledger.deal(kA, kFirst, 5), b = ledger.deal(kB, kFirst, 5);
  ledger.settle(b, SampleEnd::Dropped);
  ledger.revoke(kA, kFirst);
  Ledger other(Seed(1), 20);
  other.restore(ledger.place());
  EXPECT_EQ(other.place(), ledger.place());
  EXPECT_EQ(other.tally().ended[static_cast<std::size_t>(SampleEnd::Dropped)], 5U);
  EXPECT_EQ(other.deal(kA, kFirst, 9), a) << "what was given back comes first";
  other.revoke_all();
  other.drop_rest();
  EXPECT_TRUE(other.epoch_ended());
  EXPECT_EQ(other.deal(kA, kFirst, 3).epoch, 1U);
}

TEST(Ledger, OverAWorkersOwnSamplesDealsThoseAlone) {
  const std::vector<SampleId> own{5, 17, 40, 41, 99};
  Ledger ledger(Seed(1), own);
  EXPECT_EQ(ledger.samples_per_epoch(), 5U);
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    std::vector<SampleId> dealt;
    for (const std::uint64_t n : {2U, 2U, 1U}) {
      const Share share = ledger.deal(kA, kFirst, n);
      EXPECT_EQ(share.epoch, epoch);
      for (const SampleId id : ledger.samples(share)) dealt.push_back(id);
      ledger.settle(share, SampleEnd::Applied);
    }
    std::ranges::sort(dealt);
    EXPECT_EQ(dealt, own);
  }
}

TEST(Ledger, PeekForetellsTheNextDealsWithoutMakingThem) {
  Random random(Seed(4), Purpose::Test);
  for (int round = 0; round < 100; ++round) {
    Ledger ledger(Seed(1), 23);
    for (int i = 0; i < 4; ++i) {  // create gaps
      const NodeId worker(static_cast<std::uint32_t>(random.below(2)));
      const Share share = ledger.deal(worker, kFirst, random.between(1, 4));
      if (random.chance(0.5)) ledger.settle(share, SampleEnd::Applied);
    }
    ledger.revoke(kA, kFirst);
    ledger.settle_leases(SampleEnd::Applied);
    const std::uint64_t n = random.between(1, 6);
    const std::vector<Share> foretold = ledger.peek(n, 12);
    ASSERT_EQ(foretold.size(), 12U);
    for (const Share& share : foretold) {
      ASSERT_EQ(ledger.deal(kA, kFirst, n), share);
      ledger.settle(share, SampleEnd::Applied);
    }
  }
  EXPECT_TRUE(Ledger(Seed(1), 5).peek(0, 3).empty());
}

TEST(Ledger, AFullPassDealsEverySampleOnceInOrderAndTheLedgerStaysWhereItIs) {
  Ledger ledger(Seed(1), 10);
  ledger.settle(ledger.deal(kA, kFirst, 4), SampleEnd::Applied);
  FullPass pass = ledger.full_pass();
  const Share a = pass.deal(kA, kFirst, 6), b = pass.deal(kB, kFirst, 6);
  EXPECT_EQ(pass.samples(a), (std::vector<SampleId>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(pass.samples(b), (std::vector<SampleId>{6, 7, 8, 9}));
  EXPECT_EQ(pass.deal(kA, kFirst, 1).n, 0U);
  pass.revoke(kB, kFirst);  // lost: its samples go to another worker
  pass.settle(a);
  EXPECT_FALSE(pass.ended());
  EXPECT_EQ(pass.deal(kA, kFirst, 9), b);
  pass.settle(b);
  EXPECT_TRUE(pass.ended());
  EXPECT_EQ(pass.deal(kA, kFirst, 9).n, 0U);
  EXPECT_EQ(ledger.place().done(), 4U);
  FullPass own = Ledger(Seed(1), std::vector<SampleId>{3, 8}).full_pass();
  EXPECT_EQ(own.samples(own.deal(kA, kFirst, 5)), (std::vector<SampleId>{3, 8}));
}

TEST(LedgerDeathTest, WhatNobodyHasCannotBeSettled) {
  Ledger ledger(Seed(1), 10);
  EXPECT_DEATH(ledger.settle(Share{0, 0, 1}, SampleEnd::Applied), "are not leased");
}

}  // namespace
}  // namespace shoal
