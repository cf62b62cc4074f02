// Carriers of different processes, which are stopped and killed for real.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "transport/shm/address.h"
#include "transport/shm/child.h"
#include "transport/shm/note.h"
#include "transport/shm/station.h"

namespace shoal {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

constexpr std::size_t kLarge = 64U << 20U;

ShmOptions keyed() {
  ShmOptions options;
  options.key = std::string(32, 'p');
  return options;
}

// ---- the parts that a child plays; `parent` is the test's address

void say(const std::string& line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

// Sends 64 MiB out of its window repeatedly.
int play_sender(const std::string& parent) {
  LiveLoop loop;
  Station self(loop, life(2), keyed());
  const std::shared_ptr<std::byte> window = self.carrier().allocate(Bytes(kLarge));
  const std::vector<std::byte> bytes = pattern(kLarge);
  std::memcpy(window.get(), bytes.data(), kLarge);
  self.carrier().connect(life(1), parent);
  self.on_sent = [&](Station::Sending&) {
    loop.defer([&] { self.send(life(1), {window.get(), Bytes(kLarge)}); });
  };
  self.on_lost = [&](LifeId) { loop.stop(); };
  self.send(life(1), {window.get(), Bytes(kLarge)});
  loop.run();
  return 0;
}

// Keeps received messages, and reports when it has lost the test.
int play_holder(const std::string& parent) {
  LiveLoop loop;
  Station self(loop, life(2), keyed());
  self.carrier().connect(life(1), parent);
  say(to_hex(self.carrier().contact()));
  self.on_arrived = [&](Parcel&) {
    if (self.arrivals == 1) say("arrived");
  };
  self.on_lost = [&](LifeId) {
    say("lost");
    loop.stop();
  };
  loop.run();
  return 0;
}

// Sends back every message.
int play_echo(const std::string& parent) {
  LiveLoop loop;
  Station self(loop, life(2), keyed());
  self.carrier().connect(life(1), parent);
  say(to_hex(self.carrier().contact()));
  std::deque<std::vector<std::byte>> rooms;  // all of them stay: they are read while being sent
  std::map<Parcel*, std::vector<std::byte>*> room_of;
  const auto back = [&](Parcel& parcel) {
    self.send(life(1), const_buf(std::span(*room_of[&parcel])));
    self.release(parcel);
  };
  self.on_arrived = [&](Parcel& parcel) {
    std::vector<std::byte>& room = rooms.emplace_back(parcel.payload_size);
    room_of[&parcel] = &room;
    if (self.carrier().fetch(parcel, mut_buf(std::span(room)))) back(parcel);
  };
  self.on_fetched = back;
  self.on_lost = [&](LifeId) { loop.stop(); };
  loop.run();
  return 0;
}

// Ends as soon as its messages are sent.
int play_leaver(const std::string& parent) {
  LiveLoop loop;
  Station self(loop, life(2), keyed());
  self.carrier().connect(life(1), parent);
  const std::vector<std::byte> bytes = pattern(100'000);
  self.send(life(1), {});
  const Station::Sending& last = self.send(life(1), const_buf(std::span(bytes)));
  run_until(loop, [&] { return last.done; });
  return 0;
}

// Connects as another user, and reports the answer.
int play_intruder(const std::string& parent) {
  if (setresuid(65534, 65534, 65534) != 0) return 3;
  const shm::UniqueFd socket = shm::make_socket();
  if (shm::connect_to(socket, shm::decode_address(parent)->socket) != 0) return 4;
  LiveLoop loop;
  shm::ReceivedNote received;
  run_until(loop, [&] {
    received = shm::receive_note(socket);
    return received.got != shm::Got::Nothing;
  });
  say(shm::text_of(received.note));
  return 0;
}

// ---- the tests

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

std::size_t lines_with(const char* path, const std::string& what) {
  std::ifstream file(path);
  std::size_t count = 0;
  for (std::string line; std::getline(file, line);)
    count += line.find(what) != std::string::npos ? 1 : 0;
  return count;
}
std::size_t mappings() { return lines_with("/proc/self/maps", "memfd:shoal"); }

class ShmProcessTest : public ::testing::Test {
 protected:
  std::string contact() { return to_hex(self.carrier().contact()); }
  void until(const std::function<bool()>& so) { run_until(loop, so); }

  LiveLoop loop;
  Station self{loop, life(1), keyed()};
};

TEST_F(ShmProcessTest, ASenderKilledInMidTransferLeavesItsPublishedRangeReadable) {
  Child child({"sender", contact()});
  until([&] { return self.arrivals == 1; });
  Parcel& parcel = *self.parcels[0];
  std::vector<std::byte> room(kLarge);
  ASSERT_FALSE(self.carrier().fetch(parcel, mut_buf(std::span(room))));
  run_turns(loop, 10);
  EXPECT_TRUE(self.fetched_parcels.empty());
  child.end(SIGKILL);
  until([&] { return !self.losses.empty(); });
  EXPECT_EQ(self.losses[0].peer, life(2));
  EXPECT_THAT(self.losses[0].why, HasSubstr("its process ended"));

  const std::vector<std::byte> bytes = pattern(kLarge);
  until([&] { return !self.fetched_parcels.empty(); });
  EXPECT_EQ(self.fetch_errors[0], "");
  EXPECT_TRUE(room == bytes);
  EXPECT_TRUE(same_bytes(*self.carrier().in_place(parcel), bytes));
  self.release(parcel);
  EXPECT_EQ(mappings(), 0U);
}

TEST_F(ShmProcessTest, ClosingAKilledSenderEndsTheFetch) {
  Child child({"sender", contact()});
  until([&] { return self.arrivals == 1; });
  std::vector<std::byte> room(kLarge);
  ASSERT_FALSE(self.carrier().fetch(*self.parcels[0], mut_buf(std::span(room))));
  self.on_lost = [&](LifeId peer) { self.carrier().close(peer); };
  child.end(SIGKILL);
  until([&] { return !self.fetched_parcels.empty(); });
  EXPECT_THAT(self.fetch_errors[0], HasSubstr("closed here"));
}

TEST_F(ShmProcessTest, FlightsToAKilledReceiverFailWhereverTheyAre) {
  Child child({"holder", contact()});
  const std::string there = from_hex(child.line());
  const std::string socket = shm::decode_address(there)->socket;
  EXPECT_GE(lines_with("/proc/net/unix", socket), 1U);
  self.carrier().connect(life(2), there);
  const std::shared_ptr<std::byte> window = self.carrier().allocate(Bytes(kLarge));
  const std::vector<std::byte> heap = pattern(kLarge);
  self.send(life(2), {window.get(), Bytes(kLarge)});
  for (int i = 0; i < 4; ++i) self.send(life(2), const_buf(std::span(heap)));
  for (int i = 0; i < 5000; ++i) self.send(life(2), const_buf(std::span(heap).first(20)));
  // The first is in the window, the second is being staged, the others wait.
  until([&] { return shm_stats(self.carrier()).in_window == 1; });
  EXPECT_EQ(child.line(), "arrived");
  run_turns(loop, 20);
  EXPECT_FALSE(self.sendings[1].done);
  child.end(SIGKILL);
  until([&] {
    return std::all_of(self.sendings.begin(), self.sendings.end(),
                       [](const auto& s) { return s.done; });
  });
  EXPECT_NE(self.sendings[0].failure, "");
  EXPECT_NE(self.sendings.back().failure, "");
  EXPECT_EQ(self.losses.size(), 1U);
  EXPECT_EQ(lines_with("/proc/net/unix", socket), 0U) << "the socket outlived its process";
}

TEST_F(ShmProcessTest, AStoppedReaderIsClosedAndHearsOfItWhenItGoesOn) {
  Child child({"holder", contact()});
  self.carrier().connect(life(2), from_hex(child.line()));
  const std::shared_ptr<std::byte> window = self.carrier().allocate(Bytes(kLarge));
  self.send(life(2), {window.get(), Bytes(kLarge)});
  until([&] { return shm_stats(self.carrier()).in_window == 1; });
  EXPECT_EQ(child.line(), "arrived");
  child.signal(SIGSTOP);
  const std::vector<std::byte> bytes = pattern(5000);
  for (int i = 0; i < 3000; ++i) self.send(life(2), const_buf(std::span(bytes)));
  for (int i = 0; i < 1000; ++i) self.send(life(2), {window.get() + i, Bytes(10'000)});
  run_turns(loop);
  EXPECT_FALSE(self.sendings[0].done);
  EXPECT_FALSE(self.sendings.back().done);
  EXPECT_TRUE(self.losses.empty()) << "a frozen process cannot be told from a slow one";

  self.carrier().close(life(2));
  until([&] { return self.sendings[0].done && self.sendings.back().done; });
  for (const auto& s : self.sendings) EXPECT_TRUE(s.done);
  EXPECT_THAT(self.sendings[0].failure, HasSubstr("closed here"));
  child.signal(SIGCONT);
  EXPECT_EQ(child.line(), "lost");
  EXPECT_EQ(child.end(0), 0);
}

TEST_F(ShmProcessTest, WhatWasSentBeforeAnOrderlyEndArrives) {
  Child child({"leaver", contact()});
  until([&] { return !self.losses.empty(); });
  EXPECT_EQ(child.end(0), 0);
  ASSERT_EQ(self.arrivals, 2U);
  std::vector<std::byte> room(100'000);
  ASSERT_TRUE(self.carrier().fetch(*self.parcels[1], mut_buf(std::span(room))));
  EXPECT_EQ(room, pattern(100'000));
}

TEST_F(ShmProcessTest, AsRootAnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can come as somebody else";
  Child child({"intruder", contact()});
  until([&] { return shm_stats(self.carrier()).refused == 1; });
  EXPECT_THAT(child.line(), HasSubstr("user 65534 is not user 0"));
  EXPECT_EQ(child.end(0), 0);
  EXPECT_TRUE(self.losses.empty());
}

TEST(ShmProcess, PeersKilledAtAnyMomentLeaveNothingBehind) {
  const std::size_t descriptors = open_descriptors();
  std::uint64_t x = 11;
  std::uint64_t echoed = 0;
  for (std::uint32_t round = 0; round < 30; ++round) {
    SCOPED_TRACE(round);
    LiveLoop loop;
    Station self(loop, life(1), keyed());
    Child child({"echo", to_hex(self.carrier().contact())});
    self.carrier().connect(life(2), from_hex(child.line()));
    const std::shared_ptr<std::byte> window = self.carrier().allocate(Bytes(4U << 20U));
    const std::vector<std::byte> heap = pattern(3U << 20U);
    const auto throw_one = [&] {
      x = x * 6364136223846793005U + 1442695040888963407U;
      const std::size_t size = (x >> 40U) % (x >> 62U == 0 ? heap.size() : 3000);
      if (x >> 63U == 0)
        self.send(life(2), {window.get(), Bytes(size)});
      else
        self.send(life(2), const_buf(std::span(heap).first(size)));
    };
    self.on_arrived = [&](Parcel& parcel) {
      self.release(parcel);
      ++echoed;
      loop.defer(throw_one);
    };
    for (int i = 0; i < 20; ++i) throw_one();
    const std::uint64_t enough = round % 6 * (x >> 60U);
    run_until(loop, [&] { return self.arrivals >= enough; });
    child.end(SIGKILL);
    run_until(loop, [&] {
      return !self.losses.empty() && std::all_of(self.sendings.begin(), self.sendings.end(),
                                                 [](const auto& s) { return s.done; });
    });
    run_turns(loop, 50);
    EXPECT_EQ(self.losses.size(), 1U);
  }
  EXPECT_GT(echoed, 0U);
  EXPECT_EQ(open_descriptors(), descriptors);
  EXPECT_EQ(mappings(), 0U);
}

int play(const std::string& part, const std::string& parent) {
  if (part == "sender") return play_sender(parent);
  if (part == "holder") return play_holder(parent);
  if (part == "echo") return play_echo(parent);
  if (part == "leaver") return play_leaver(parent);
  if (part == "intruder") return play_intruder(parent);
  return 2;
}

}  // namespace
}  // namespace shoal

int main(int argc, char** argv) {
  if (argc == 4 && std::string(argv[1]) == "--as")
    return shoal::play(argv[2], shoal::from_hex(argv[3]));
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
