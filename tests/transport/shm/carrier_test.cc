// The contract of a shared-memory carrier, between two carriers on one loop.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "transport/shm/station.h"

namespace shoal {
namespace {

using ::testing::HasSubstr;

class ShmCarrierTest : public ::testing::Test {
 protected:
  void join(ShmOptions options = {}) {
    options.key = std::string(32, 'k');
    a = std::make_unique<Station>(loop, life(1), options);
    b = std::make_unique<Station>(loop, life(2), options);
    a->connect(*b);
    b->connect(*a);
  }
  void until(const std::function<bool()>& so) { run_until(loop, so); }

  // Sends, fetches, compares, releases; returns when the sender's flight has ended.
  void transfer(Station& from, Station& to, ConstBuf payload, const std::vector<std::byte>& same) {
    const Station::Sending& sending = from.send(to.self(), payload);
    until([&] { return !to.parcels.empty(); });
    Parcel& parcel = *to.parcels.front();
    ASSERT_EQ(parcel.payload_size, same.size());
    EXPECT_EQ(parcel.sender, from.self());
    EXPECT_EQ(Station::number_of(parcel), from.sendings.size() - 1);
    std::vector<std::byte> room(same.size());
    to.fetched_parcels.clear();
    to.fetch_errors.clear();
    if (!to.carrier().fetch(parcel, mut_buf(std::span(room)))) {
      until([&] { return !to.fetched_parcels.empty(); });
      EXPECT_EQ(to.fetched_parcels.front(), &parcel);
      EXPECT_EQ(to.fetch_errors.front(), "");
    }
    EXPECT_TRUE(same_bytes(const_buf(std::span(room)), same));
    to.release(parcel);
    until([&] { return sending.done; });
    EXPECT_EQ(sending.failure, "");
  }

  LiveLoop loop;
  std::unique_ptr<Station> a;
  std::unique_ptr<Station> b;
};

TEST_F(ShmCarrierTest, MessagesOfEverySizeGoBothWaysFromEveryKindOfMemory) {
  join();
  for (const std::size_t size :
       {0UL, 1UL, 63UL, 1001UL, 8191UL, 8192UL, 8193UL, 262'145UL, (1UL << 20U) + 3, 64UL << 20U}) {
    const std::vector<std::byte> bytes = pattern(size, size + 1);
    for (Station* from : {a.get(), b.get()}) {
      Station& to = from == a.get() ? *b : *a;
      SCOPED_TRACE(fmt::format("{} bytes from node {}", size, from->self().node));
      transfer(*from, to, const_buf(std::span(bytes)), bytes);
      const std::shared_ptr<std::byte> window = from->carrier().allocate(Bytes(size + 5));
      if (size > 0) std::memcpy(window.get() + 5, bytes.data(), size);
      transfer(*from, to, {window.get() + 5, Bytes(size)}, bytes);
    }
  }
  EXPECT_GT(shm_stats(a->carrier()).eager, 0U);
  EXPECT_GT(shm_stats(a->carrier()).staged, 0U);
  EXPECT_EQ(shm_stats(a->carrier()).in_window, 4U);
  EXPECT_EQ(shm_stats(a->carrier()).offered, 0U);
  EXPECT_TRUE(a->losses.empty());
}

TEST_F(ShmCarrierTest, MessagesSentBeforeTheConnectionStandsArriveInOrder) {
  join({.slots = 8, .eager_ring = 1024, .eager_max = 512});
  std::vector<std::vector<std::byte>> payloads;
  for (std::size_t i = 0; i < 500; ++i) payloads.push_back(pattern(i * 37 % 2000, i));
  for (const auto& payload : payloads) a->send(*b, payload);
  until([&] { return b->arrivals == payloads.size(); });
  for (std::size_t i = 0; i < payloads.size(); ++i) {
    EXPECT_EQ(Station::number_of(*b->parcels[i]), i);
    EXPECT_TRUE(same_bytes(*b->carrier().in_place(*b->parcels[i]), payloads[i])) << i;
  }
}

// The ring wraps around several times; odd sizes must not misalign later payloads.
TEST_F(ShmCarrierTest, SmallPayloadsAreSeenWhereTheyLieWholeAndAligned) {
  join({.slots = 8, .eager_ring = 1024, .eager_max = 512});
  std::vector<std::vector<std::byte>> payloads;
  for (std::size_t i = 0; i < 100; ++i) payloads.push_back(pattern(i * 37 % 512 + 1, i));
  std::size_t seen = 0;
  b->on_arrived = [&](Parcel& parcel) {
    const auto there = b->carrier().glance(parcel);
    ASSERT_TRUE(there);
    EXPECT_TRUE(same_bytes(*there, payloads[seen])) << seen;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(there->data) % 64, 0U) << seen;
    // Every second one is kept, and copied out of the ring: its content must stay the same.
    if (++seen % 2 == 0) b->release(parcel);
  };
  for (const auto& payload : payloads) a->send(*b, payload);
  until([&] { return seen == payloads.size(); });
  ASSERT_EQ(b->parcels.size(), payloads.size() / 2);
  for (std::size_t i = 0; i < b->parcels.size(); ++i)
    EXPECT_TRUE(same_bytes(*b->carrier().glance(*b->parcels[i]), payloads[2 * i])) << i;
}

TEST_F(ShmCarrierTest, WhatItsSenderMayChangeIsNotForAGlance) {
  join();
  const std::shared_ptr<std::byte> window = a->carrier().allocate(Bytes(20'000));
  a->send(b->self(), {window.get(), Bytes(20'000)});
  until([&] { return b->arrivals == 1; });
  EXPECT_EQ(b->carrier().glance(*b->parcels.front()), std::nullopt);
}

TEST_F(ShmCarrierTest, ThousandsOfUnmatchedMessagesBlockNobody) {
  join();
  const std::vector<std::byte> small = pattern(100);
  const std::vector<std::byte> large = pattern(10'000);
  constexpr std::uint64_t kMessages = 6000;
  for (std::uint64_t i = 0; i < kMessages; ++i) a->send(*b, i % 3 == 0 ? large : small);
  until([&] { return b->arrivals == kMessages; });
  EXPECT_GT(shm_stats(a->carrier()).queued, 0U) << "the ring was never full";
  // The last one is intact, and so are all the others.
  EXPECT_TRUE(same_bytes(*b->carrier().in_place(*b->parcels.back()), small));
  for (std::size_t i = 0; i < b->parcels.size(); ++i)
    ASSERT_TRUE(same_bytes(*b->carrier().in_place(*b->parcels[i]), i % 3 == 0 ? large : small));
  // Released from the last to the first, more at once than there is room for answers.
  while (!b->parcels.empty()) b->release(*b->parcels.back());
  until([&] {
    return std::all_of(a->sendings.begin(), a->sendings.end(), [](auto& s) { return s.done; });
  });
}

TEST_F(ShmCarrierTest, BeyondTheStagingMemoryMessagesAreOfferedAndStagedWhenWanted) {
  join({.stage_max = 100'000});
  std::vector<std::vector<std::byte>> payloads;
  for (std::size_t i = 0; i < 20; ++i) payloads.push_back(pattern(40'000, i));
  for (const auto& payload : payloads) a->send(*b, payload);
  until([&] { return b->arrivals == payloads.size(); });
  EXPECT_EQ(shm_stats(a->carrier()).staged, 2U);
  EXPECT_EQ(shm_stats(a->carrier()).offered, 18U);
  for (std::size_t i = 0; i < payloads.size(); ++i) EXPECT_EQ(a->sendings[i].done, i < 2) << i;

  // The last one first, while the first ones hold all the memory for unclaimed messages.
  EXPECT_EQ(b->carrier().in_place(*b->parcels.back()), std::nullopt);
  std::vector<std::vector<std::byte>> rooms(payloads.size(), std::vector<std::byte>(40'000));
  std::size_t at_once = 0;
  for (std::size_t i = payloads.size(); i-- > 0;)
    at_once += b->carrier().fetch(*b->parcels[i], mut_buf(std::span(rooms[i]))) ? 1 : 0;
  const std::vector<Parcel*> parcels = b->parcels;
  b->on_fetched = [&](Parcel& p) { b->release(p); };
  until([&] { return b->fetched_parcels.size() + at_once == payloads.size(); });
  EXPECT_EQ(rooms, payloads);
  EXPECT_THAT(b->fetch_errors, ::testing::Each(""));
  for (const auto& s : a->sendings) EXPECT_TRUE(s.done && s.failure.empty());
}

TEST_F(ShmCarrierTest, AnOfferThatIsStoppedOrNeverWantedEndsItsFlightWhenReleased) {
  join({.stage_max = 50'000});
  const std::vector<std::byte> payload = pattern(40'000);
  for (int i = 0; i < 4; ++i) a->send(*b, payload);
  until([&] { return b->arrivals == 4; });
  const std::vector<Parcel*> parcels = b->parcels;
  std::vector<std::byte> room(40'000);

  b->release(*parcels[1]);  // never claimed
  EXPECT_FALSE(b->carrier().fetch(*parcels[2], mut_buf(std::span(room))));
  EXPECT_TRUE(b->carrier().stop(*parcels[2]));
  b->release(*parcels[2]);  // claimed, and then not
  EXPECT_FALSE(b->carrier().fetch(*parcels[3], mut_buf(std::span(room))));
  EXPECT_TRUE(b->carrier().stop(*parcels[3]));  // claimed, stopped, claimed again
  EXPECT_FALSE(b->carrier().fetch(*parcels[3], mut_buf(std::span(room))));
  until([&] { return b->fetched_parcels.size() == 1; });
  EXPECT_EQ(b->fetched_parcels.front(), parcels[3]);
  EXPECT_EQ(room, payload);
  until([&] { return a->sendings[1].done && a->sendings[2].done && a->sendings[3].done; });
  EXPECT_TRUE(a->losses.empty() && b->losses.empty());
}

TEST_F(ShmCarrierTest, WindowMemoryIsReadInPlaceAndIsBusyUntilReleased) {
  join();
  const std::shared_ptr<std::byte> window = a->carrier().allocate(Bytes(100'000));
  const std::vector<std::byte> zeros(100'000);
  EXPECT_TRUE(same_bytes({window.get(), Bytes(100'000)}, zeros));
  const std::vector<std::byte> bytes = pattern(100'000);
  std::memcpy(window.get(), bytes.data(), bytes.size());
  const Station::Sending& first = a->send(b->self(), {window.get(), Bytes(50'000)});
  const Station::Sending& second = a->send(b->self(), {window.get() + 50'000, Bytes(50'000)});
  until([&] { return b->arrivals == 2; });
  const ConstBuf one = *b->carrier().in_place(*b->parcels[0]);
  const ConstBuf two = *b->carrier().in_place(*b->parcels[1]);
  EXPECT_EQ(two.data, one.data + 50'000) << "both are in the one mapping of the window";
  EXPECT_EQ(std::memcmp(one.data, bytes.data(), 50'000), 0);
  window.get()[7] = std::byte{99};
  EXPECT_EQ(one.data[7], std::byte{99}) << "a copy would not have changed";

  b->release(*b->parcels[1]);
  until([&] { return second.done; });
  run_turns(loop);
  EXPECT_FALSE(first.done);
  b->release(*b->parcels[0]);
  until([&] { return first.done; });
}

TEST_F(ShmCarrierTest, WindowMemoryThatWasGivenBackIsNoWindowAnyMore) {
  join();
  std::shared_ptr<std::byte> window = a->carrier().allocate(Bytes(100'000));
  const std::byte* old = window.get();
  transfer(*a, *b, {old, Bytes(100'000)}, std::vector<std::byte>(100'000));
  window.reset();
  run_turns(loop);
  for (int i = 0; i < 50; ++i) {  // Addresses are reused, region numbers are not.
    window = a->carrier().allocate(Bytes(100'000));
    const std::vector<std::byte> bytes = pattern(100'000, static_cast<std::uint64_t>(i));
    std::memcpy(window.get(), bytes.data(), bytes.size());
    transfer(*a, *b, {window.get(), Bytes(100'000)}, bytes);
  }
  // Memory may also outlive its carrier.
  a.reset();
  window.get()[0] = std::byte{1};
}

TEST_F(ShmCarrierTest, AStoppedFetchLeavesItsRoomAlone) {
  join();
  const std::vector<std::byte> bytes = pattern(8U << 20U);
  const Station::Sending& sending = a->send(*b, bytes);
  until([&] { return b->arrivals == 1; });
  std::vector<std::byte> room(bytes.size());
  EXPECT_FALSE(b->carrier().fetch(*b->parcels[0], mut_buf(std::span(room))));
  run_turns(loop, 3);
  EXPECT_TRUE(b->carrier().stop(*b->parcels[0]));
  EXPECT_FALSE(same_bytes(const_buf(std::span(room)), bytes)) << "it was too quick to be stopped";
  const std::vector<std::byte> zeros(room.size());
  room = zeros;
  run_turns(loop);
  EXPECT_TRUE(same_bytes(const_buf(std::span(room)), zeros));
  EXPECT_TRUE(b->fetched_parcels.empty());
  b->release(*b->parcels[0]);
  EXPECT_TRUE(sending.done);
}

TEST_F(ShmCarrierTest, ALongCopyGoesInSlicesSoThatTheLoopLives) {
  join();
  const std::vector<std::byte> bytes = pattern(64U << 20U);
  const std::uint64_t before = loop.turns();
  const Station::Sending& sending = a->send(*b, bytes);
  EXPECT_FALSE(sending.done) << "the send blocked the loop for the whole copy";
  until([&] { return b->arrivals == 1; });
  EXPECT_TRUE(sending.done);
  EXPECT_GE(loop.turns() - before, 256U);
}

TEST_F(ShmCarrierTest, ClosingEndsFlightsAndFetchesAndLeavesParcels) {
  join({.stage_max = 1});
  const std::shared_ptr<std::byte> window = a->carrier().allocate(Bytes(32U << 20U));
  const std::vector<std::byte> payload = pattern(20'000);
  a->send(b->self(), {window.get(), Bytes(32U << 20U)});
  a->send(*b, payload);  // staged
  a->send(*b, payload);  // offered, and claimed
  a->send(*b, payload);  // offered
  until([&] { return b->arrivals == 4; });
  b->send(*a, payload);
  until([&] { return a->arrivals == 1; });

  std::vector<std::byte> room(32U << 20U);
  std::vector<std::byte> other(20'000);
  EXPECT_FALSE(b->carrier().fetch(*b->parcels[0], mut_buf(std::span(room))));
  EXPECT_FALSE(b->carrier().fetch(*b->parcels[2], mut_buf(std::span(other))));
  b->carrier().close(a->self());
  EXPECT_TRUE(b->fetch_errors.empty()) << "told from inside close()";
  until([&] { return b->fetch_errors.size() == 2; });
  EXPECT_THAT(b->fetch_errors, ::testing::Each(HasSubstr("closed")));
  EXPECT_TRUE(same_bytes(*b->carrier().in_place(*b->parcels[1]), payload));
  EXPECT_TRUE(b->losses.empty()) << "who closes is not told of it";

  // The other side is told.
  until([&] { return !a->losses.empty(); });
  until([&] { return a->sendings[0].done && a->sendings[2].done && a->sendings[3].done; });
  EXPECT_EQ(a->losses.size(), 1U);
  EXPECT_EQ(a->losses[0].peer, b->self());
  EXPECT_THAT(a->sendings[0].failure, HasSubstr("closed"));
  EXPECT_THAT(a->sendings[3].failure, HasSubstr("closed"));
  const Station::Sending& late = a->send(*b, payload);
  EXPECT_FALSE(late.done);
  until([&] { return late.done; });
  EXPECT_NE(late.failure, "");
  b->carrier().close(a->self());  // Closing twice is harmless.
  run_turns(loop);
  EXPECT_EQ(b->losses.size(), 0U);
}

TEST_F(ShmCarrierTest, APayloadIsNotTakenForWholeOnceItsSenderHasLetGo) {
  join();
  const std::shared_ptr<std::byte> window = a->carrier().allocate(Bytes(4U << 20U));
  a->send(b->self(), {window.get(), Bytes(4U << 20U)});
  until([&] { return b->arrivals == 1; });
  std::vector<std::byte> room(4U << 20U);
  EXPECT_FALSE(b->carrier().fetch(*b->parcels[0], mut_buf(std::span(room))));
  a->carrier().close(b->self());  // From now on the window may be written again.
  until([&] { return !b->fetch_errors.empty(); });
  EXPECT_THAT(b->fetch_errors[0], HasSubstr("closed the connection"));
}

TEST_F(ShmCarrierTest, ACarrierThatEndsIsLostAfterAllItHadSentHasArrived) {
  join({.slots = 1024});
  const std::vector<std::byte> large = pattern(20'000);
  a->send(*b, {});
  until([&] { return b->arrivals == 1; });
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(a->send(*b, i % 30 == 0 ? large : pattern(10)).done);
  a.reset();
  b->on_lost = [&](LifeId) { EXPECT_EQ(b->arrivals, 301U); };
  until([&] { return !b->losses.empty(); });
  ASSERT_EQ(b->losses.size(), 1U);
  EXPECT_THAT(b->losses[0].why, HasSubstr("ended or closed"));
  std::vector<std::byte> room(20'000);
  ASSERT_TRUE(b->carrier().fetch(*b->parcels[1], mut_buf(std::span(room))));
  EXPECT_EQ(room, large);
}

TEST_F(ShmCarrierTest, TheSinkMayCloseAPeerWhileItsMessagesArrive) {
  join();
  b->on_arrived = [&](Parcel& parcel) {
    if (Station::number_of(parcel) == 5) b->carrier().close(a->self());
  };
  const std::vector<std::byte> payload = pattern(500);
  for (int i = 0; i < 50; ++i) a->send(*b, payload);
  until([&] { return !a->losses.empty(); });
  run_turns(loop);
  EXPECT_EQ(b->arrivals, 6U);
  for (Parcel* parcel : b->parcels)
    EXPECT_TRUE(same_bytes(*b->carrier().in_place(*parcel), payload));
}

TEST_F(ShmCarrierTest, ALifeThatWasClosedIsNotLetInAgainButTheNextIs) {
  join();
  b->carrier().close(life(3));
  Station evicted(loop, life(3));
  evicted.connect(*b);
  // Another key in Station's default options would be refused for the key; use the same one.
  until([&] { return !evicted.losses.empty(); });

  ShmOptions options;
  options.key = std::string(32, 'k');
  Station zombie(loop, life(3), options);
  zombie.connect(*b);
  until([&] { return !zombie.losses.empty(); });
  EXPECT_THAT(zombie.losses[0].why, HasSubstr("life 1 of node 3 has ended"));
  Station next(loop, life(3, 2), options);
  next.connect(*b);
  next.send(*b, pattern(10));
  until([&] { return b->arrivals == 1; });
}

TEST_F(ShmCarrierTest, OnlyTheSameHostIsReached) {
  ShmOptions elsewhere;
  elsewhere.host = "another host";
  Station here(loop, life(1));
  Station also_here(loop, life(2));
  Station there(loop, life(3), elsewhere);
  Station also_there(loop, life(4), elsewhere);
  EXPECT_TRUE(here.carrier().reaches(also_here.carrier().contact()));
  EXPECT_FALSE(here.carrier().reaches(there.carrier().contact()));
  EXPECT_FALSE(there.carrier().reaches(here.carrier().contact()));
  EXPECT_TRUE(there.carrier().reaches(also_there.carrier().contact()));
  std::string other_version = also_here.carrier().contact();
  ++other_version[9];
  for (const std::string& nonsense : {std::string(), std::string("shoal-shm"), other_version,
                                      std::string(500, 'x'), std::string(11, '\0')})
    EXPECT_FALSE(here.carrier().reaches(nonsense));
}

TEST_F(ShmCarrierTest, OptionsThatCannotBeAreRefusedByName) {
  const auto refused = [&](ShmOptions options, const char* named) {
    try {
      make_shm_carrier(loop, std::move(options));
      ADD_FAILURE() << named << " was accepted";
    } catch (const ConfigError& e) {
      EXPECT_THAT(e.what(), HasSubstr(named));
    }
  };
  refused({.key = "too short"}, "key");
  refused({.slots = 100}, "slots");
  refused({.slots = 0}, "slots");
  refused({.eager_ring = 1000}, "eager_ring");
  refused({.eager_ring = 8192}, "eager_max");
  refused({.eager_ring = 64, .eager_max = 32}, "eager_ring");
  refused({.ack_slots = 3}, "ack_slots");
}

}  // namespace
}  // namespace shoal
