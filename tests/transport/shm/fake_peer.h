// Peers of a carrier that send data that our carriers never send.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "transport/shm/address.h"
#include "transport/shm/layout.h"
#include "transport/shm/note.h"
#include "transport/shm/station.h"

namespace shoal::shm {

inline ReceivedNote wait_for_note(LiveLoop& loop, const UniqueFd& socket) {
  ReceivedNote received;
  run_until(loop, [&] {
    received = receive_note(socket);
    return received.got != Got::Nothing;
  });
  return received;
}

// Sends to a station: it connects, and gets a lane that it can fill with anything.
class FakeSender {
 public:
  static constexpr std::uint32_t kSlots = 8;
  static constexpr std::uint32_t kEager = 1024;

  FakeSender(LiveLoop& loop, Station& target, LifeId self) : loop_(&loop), target_(&target) {
    hello = make_note(NoteKind::Hello, self, target.self());
    lane = std::make_unique<OwnMemory>("lane", Bytes(lane_size(kSlots, kEager)));
    new (lane->data()) LaneHead{};
    head().shape = {kLaneMagic, kShmVersion, kSlots, kEager};
    socket = make_socket();
    const std::string name = decode_address(target.carrier().contact())->socket;
    EXPECT_EQ(connect_to(socket, name), 0);
  }

  LaneHead& head() { return *reinterpret_cast<LaneHead*>(lane->data()); }
  Descriptor& slot(std::uint64_t i) {
    return reinterpret_cast<Descriptor*>(lane->data() + sizeof(LaneHead))[i % kSlots];
  }
  // The answer to the greeting: a Welcome, or a Refusal.
  ReceivedNote greet(const std::string& key = {}) {
    const ReceivedNote challenge = wait_for_note(*loop_, socket);
    EXPECT_EQ(challenge.note.kind, NoteKind::Challenge);
    hello.nonce = fresh_nonce();
    hello.mac = mac_of(key, hello, challenge.note.nonce, hello.nonce);
    EXPECT_EQ(send_note(socket, hello, std::array{lane->descriptor(), bell.get()}), Sent::Yes);
    return wait_for_note(*loop_, socket);
  }
  void publish(const Descriptor& descriptor) {
    slot(published_) = descriptor;
    head().published.store(++published_);
  }
  void announce(std::uint64_t region, int descriptor) {
    Note note = make_note(NoteKind::Region, hello.from(), hello.to());
    note.region = region;
    EXPECT_EQ(send_note(socket, note, std::array{descriptor}), Sent::Yes);
  }
  // The station's final report about this peer.
  std::string fate() {
    run_until(*loop_, [&] { return !target_->losses.empty(); });
    if (target_->losses.size() != 1 || target_->losses[0].peer != hello.from()) return "?";
    return target_->losses[0].why;
  }

  Note hello;
  std::unique_ptr<OwnMemory> lane;
  UniqueFd socket;
  UniqueFd bell = make_doorbell();

 private:
  LiveLoop* loop_;
  Station* target_;
  std::uint64_t published_ = 0;
};

// Receives from a station: it listens, and answers with anything.
class FakeReceiver {
 public:
  static constexpr std::uint32_t kSlots = 8;

  FakeReceiver(LiveLoop& loop, Station& source, LifeId self) : loop_(&loop), source_(&source) {
    challenge = make_note(NoteKind::Challenge, self, {});
    challenge.nonce = fresh_nonce();
    answers = std::make_unique<OwnMemory>("answers", Bytes(answers_size(kSlots)));
    new (answers->data()) AnswerHead{};
    head().shape = {kAnswerMagic, kShmVersion, kSlots, 0};
    const std::string name = fresh_socket_name();
    listener_ = listen_at(name);
    source.carrier().connect(self, encode_address({this_host(), name}));
    run_until(loop, [&] {
      socket = UniqueFd(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      return bool(socket);
    });
  }

  AnswerHead& head() { return *reinterpret_cast<AnswerHead*>(answers->data()); }
  ReceivedNote hear_hello() {
    EXPECT_EQ(send_note(socket, challenge), Sent::Yes);
    return wait_for_note(*loop_, socket);
  }
  void welcome(const Note& hello, const std::string& key = {}) {
    Note note = make_note(NoteKind::Welcome, challenge.from(), hello.from());
    note.mac = mac_of(key, note, challenge.nonce, hello.nonce);
    const std::array ours{answers->descriptor(), bell.get()};
    EXPECT_EQ(send_note(socket, note, std::span(ours).first(descriptors)), Sent::Yes);
  }
  void answer(std::uint64_t word) {
    auto* words = reinterpret_cast<std::uint64_t*>(answers->data() + sizeof(AnswerHead));
    words[answered_ % kSlots] = word;
    head().answered.store(++answered_);
  }
  std::string fate() {
    run_until(*loop_, [&] { return !source_->losses.empty(); });
    return source_->losses.at(0).why;
  }

  Note challenge;
  std::unique_ptr<OwnMemory> answers;
  UniqueFd socket;
  UniqueFd bell = make_doorbell();
  std::size_t descriptors = 2;

 private:
  LiveLoop* loop_;
  Station* source_;
  UniqueFd listener_;
  std::uint64_t answered_ = 0;
};

}  // namespace shoal::shm
