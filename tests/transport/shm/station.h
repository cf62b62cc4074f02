// A carrier with a sink that records everything, and methods to send messages.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/header.h"
#include "runtime/live/loop.h"
#include "transport/shm/shm_carrier.h"

namespace shoal {

// Word by word: fast in a sanitizer build too, where large payloads are many bytes.
inline std::vector<std::byte> pattern(std::size_t size, std::uint64_t seed = 1) {
  std::vector<std::byte> bytes(size);
  std::uint64_t x = seed * 0x9E37'79B9'7F4A'7C15U + 1;
  for (std::size_t i = 0; i < size; i += sizeof x) {
    x = x * 6364136223846793005U + 1442695040888963407U;
    std::memcpy(bytes.data() + i, &x, std::min(sizeof x, size - i));
  }
  return bytes;
}

inline bool same_bytes(ConstBuf a, const std::vector<std::byte>& b) {
  return a.size.value() == b.size() && (b.empty() || std::memcmp(a.data, b.data(), b.size()) == 0);
}

inline LifeId life(std::uint32_t node, std::uint32_t incarnation = 1) {
  return {NodeId(node), Incarnation(incarnation)};
}

class Station final : public Carrier::Sink {
 public:
  struct Sending : Flight {
    bool done = false;
    std::string failure;
  };
  struct Loss {
    LifeId peer;
    std::string why;
  };

  Station(LiveLoop& loop, LifeId self, ShmOptions options = {})
      : self_(self), carrier_(make_shm_carrier(loop, std::move(options))) {
    carrier_->open(self, *this);
  }
  ~Station() override {
    for (Parcel* parcel : std::exchange(parcels, {})) carrier_->release(*parcel);
  }

  Carrier& carrier() { return *carrier_; }
  void connect(Station& other) { carrier_->connect(other.self_, other.carrier_->contact()); }
  LifeId self() const { return self_; }

  Sending& send(LifeId to, ConstBuf payload) {
    Sending& s = sendings.emplace_back();
    Header header;
    header.source = self_.node;
    header.incarnation = self_.incarnation;
    header.target = to.node;
    header.target_incarnation = to.incarnation;
    header.sequence = sendings.size() - 1;
    header.size = payload.size;
    s.to = to;
    s.header = encode_header(header);
    s.payload = payload;
    s.done = carrier_->send(s);
    return s;
  }
  Sending& send(Station& to, const std::vector<std::byte>& payload) {
    return send(to.self_, const_buf(std::span(payload)));
  }
  Sending& send(Station& to, std::vector<std::byte>&& payload) {
    return send(to, kept_.emplace_back(std::move(payload)));  // kept until the flight has ended
  }

  void arrived(Parcel& parcel) override {
    parcels.push_back(&parcel);
    ++arrivals;
    if (on_arrived) on_arrived(parcel);
  }
  void sent(Flight& flight) override {
    auto& s = static_cast<Sending&>(flight);
    EXPECT_FALSE(s.done) << "sent twice";
    s.done = true;
    if (on_sent) on_sent(s);
  }
  void failed(Flight& flight, const std::string& why) override {
    auto& s = static_cast<Sending&>(flight);
    EXPECT_FALSE(s.done) << "ended twice";
    EXPECT_FALSE(why.empty());
    s.done = true;
    s.failure = why;
  }
  void fetched(Parcel& parcel, const std::string& error) override {
    fetched_parcels.push_back(&parcel);
    fetch_errors.push_back(error);
    if (on_fetched) on_fetched(parcel);
  }
  void lost(LifeId peer, const std::string& why) override {
    losses.push_back({peer, why});
    if (on_lost) on_lost(peer);
  }
  void broken(const std::string& why) override { ADD_FAILURE() << why; }

  void release(Parcel& parcel) {
    std::erase(parcels, &parcel);
    carrier_->release(parcel);
  }
  static std::uint64_t number_of(const Parcel& parcel) {
    return decode_header(parcel.header, kNobody).sequence;
  }

  std::vector<Parcel*> parcels;  // not released yet
  std::uint64_t arrivals = 0;
  std::deque<Sending> sendings;
  std::vector<Parcel*> fetched_parcels;
  std::vector<std::string> fetch_errors;
  std::vector<Loss> losses;
  std::function<void(Parcel&)> on_arrived;
  std::function<void(Sending&)> on_sent;
  std::function<void(Parcel&)> on_fetched;
  std::function<void(LifeId)> on_lost;

 private:
  LifeId self_;
  std::deque<std::vector<std::byte>> kept_;
  std::unique_ptr<Carrier> carrier_;
};

// Runs the loop until so() holds; fails the test if it never does. The loop stays awake meanwhile.
inline void run_until(LiveLoop& loop, const std::function<bool()>& so) {
  bool late = false;
  const LiveLoop::Timer limit = loop.at(loop.now() + std::chrono::seconds(40), [&] {
    late = true;
    loop.stop();
  });
  std::function<void()> look = [&] {
    if (late) return;
    if (so()) return loop.stop();
    loop.defer(look);
  };
  loop.defer(look);
  loop.run();
  ASSERT_FALSE(late) << "what was waited for did not happen";
  loop.cancel(limit);
}

// Runs the loop for some turns, in which unwanted events would show.
inline void run_turns(LiveLoop& loop, int turns = 300) {
  run_until(loop, [&turns] { return --turns < 0; });
}

}  // namespace shoal
