// Sleep and wake-up between two threads, each with a loop and a carrier of its own: as between two
// processes, but visible to the thread sanitizer.
#include <gtest/gtest.h>

#include <latch>
#include <thread>

#include "transport/shm/station.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

// One of two that exchange messages until `left` is 0. It sleeps whenever it has nothing to do.
struct Player {
  Player(std::uint32_t node, const ShmOptions& options) : station(loop, life(node), options) {}
  LiveLoop loop;
  Station station;
  std::uint64_t left = 0;
};

class ShmWakeTest : public ::testing::Test {
 protected:
  ShmWakeTest() {
    ShmOptions options;
    options.spin = 0ns;  // Sleeps at every chance.
    options.slots = 16;
    options.ack_slots = 8;
    a = std::make_unique<Player>(1, options);
    b = std::make_unique<Player>(2, options);
    a->station.connect(b->station);
    b->station.connect(a->station);
  }

  // Runs both until each has stopped its loop, with a limit for both.
  void play() {
    const auto run = [](Player& player) {
      bool late = false;
      const auto limit = player.loop.at(player.loop.now() + 40s, [&] {
        late = true;
        player.loop.stop();
      });
      player.loop.run();
      ASSERT_FALSE(late) << "asleep, with " << player.left << " left";
      player.loop.cancel(limit);
    };
    std::thread other(run, std::ref(*b));
    run(*a);
    other.join();
  }

  std::unique_ptr<Player> a;
  std::unique_ptr<Player> b;
};

TEST_F(ShmWakeTest, TwentyThousandRoundsWithoutALostWakeUp) {
  const std::vector<std::byte> ball = pattern(24);
  for (Player* player : {a.get(), b.get()}) {
    Station& other = player == a.get() ? b->station : a->station;
    player->left = 20'000;
    player->station.on_arrived = [&, player](Parcel& parcel) {
      player->station.release(parcel);
      if (--player->left > 0 || player == b.get()) player->station.send(other, ball);
      // The first answer may wait for its lane to open; all later balls are sent within it.
      auto& sendings = player->station.sendings;
      while (!sendings.empty() && sendings.front().done) sendings.pop_front();
      if (player->left == 0) player->loop.stop();
    };
  }
  a->station.send(b->station, ball);
  play();
  EXPECT_EQ(a->left, 0U);
  EXPECT_EQ(b->left, 0U);
  EXPECT_GT(a->loop.sleeps() + b->loop.sleeps(), 1000U) << "nobody ever slept";
  EXPECT_GT(shm_stats(a->station.carrier()).rings, 0U);
}

TEST_F(ShmWakeTest, ASenderSleepsUntilItsRangesAreReleasedAndTheLaneHasRoom) {
  constexpr std::uint64_t kMessages = 5000;
  const std::shared_ptr<std::byte> window = a->station.carrier().allocate(Bytes(100'000));
  a->left = kMessages;
  b->left = kMessages;
  a->station.on_sent = [&](Station::Sending&) {
    if (--a->left > 0) return;
    a->loop.stop();
    b->loop.stop();
  };
  b->station.on_arrived = [&](Parcel& parcel) {
    // Delayed, so that the sender is asleep by then.
    b->loop.defer([&, p = &parcel] {
      b->station.release(*p);
      --b->left;
    });
  };
  for (std::uint64_t i = 0; i < kMessages; ++i)
    a->station.send(b->station.self(), {window.get() + i, Bytes(20'000)});
  play();
  EXPECT_EQ(a->left, 0U);
  EXPECT_EQ(b->left, 0U);
  EXPECT_EQ(shm_stats(a->station.carrier()).in_window, kMessages);
}

TEST_F(ShmWakeTest, AReceiverSleepsUntilThereIsRoomForItsAnswers) {
  // All are kept, then all released at once: far more answers than there is room for.
  constexpr std::uint64_t kMessages = 2000;
  const std::shared_ptr<std::byte> window = a->station.carrier().allocate(Bytes(20'000));
  a->left = kMessages;
  b->left = kMessages;
  a->station.on_sent = [&](Station::Sending&) {
    if (--a->left > 0) return;
    a->loop.stop();
    b->loop.stop();
  };
  b->station.on_arrived = [&](Parcel&) {
    if (--b->left == 0)
      b->loop.defer([&] {
        while (!b->station.parcels.empty()) b->station.release(*b->station.parcels.back());
      });
  };
  for (std::uint64_t i = 0; i < kMessages; ++i)
    a->station.send(b->station.self(), {window.get(), Bytes(20'000)});
  play();
  EXPECT_EQ(a->left, 0U);
}

TEST_F(ShmWakeTest, AnIdlePairSleeps) {
  a->loop.at(a->loop.now() + 100ms, [&] { a->loop.stop(); });
  b->loop.at(b->loop.now() + 100ms, [&] { b->loop.stop(); });
  play();
  EXPECT_LT(a->loop.turns(), 60U);
  EXPECT_LT(b->loop.turns(), 60U);
}

TEST_F(ShmWakeTest, ALossWakesASleeper) {
  a->station.on_lost = [&](LifeId) { a->loop.stop(); };
  b->station.on_arrived = [&](Parcel&) { b->loop.defer([&] { b->loop.stop(); }); };
  a->station.send(b->station, pattern(5));
  b->station.on_lost = [](LifeId) {};
  std::thread other([&] {
    b->loop.run();
    b.reset();
  });
  a->loop.at(a->loop.now() + 40s, [&] { a->loop.stop(); });
  a->loop.run();
  other.join();
  ASSERT_EQ(a->station.losses.size(), 1U) << "the loss was slept through";
  EXPECT_EQ(a->station.losses[0].peer, life(2));
}

}  // namespace
}  // namespace shoal
