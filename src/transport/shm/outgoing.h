// The way to one life of a peer: a lane that we write and it reads, and the answers it gives.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "transport/shm/core.h"
#include "transport/shm/layout.h"

namespace shoal::shm {

// Thread safety: none. Invariants:
// 1. Messages enter the lane in the order of send().
// 2. A flight is in queue_, in flights_ or in core.ended, and in one of them only.
// 3. What blocks the queue goes away without any message being matched: slots and eager bytes when
//    the peer has looked at them, staging memory never blocks it (the message is offered instead).
// Large class: it holds both sides of one connection's state, the socket's and the lane's, which
// break and end together.
class Outgoing {
 public:
  Outgoing(Core& core, LifeId peer, std::string socket_name);
  ~Outgoing();
  Outgoing(const Outgoing&) = delete;
  Outgoing& operator=(const Outgoing&) = delete;

  bool send(Flight& flight);  // as Carrier::send
  bool poll();
  void arm(std::uint64_t sleep);
  void disarm();
  bool has_news() const;  // after arm(): something came meanwhile
  void wake();            // the peer, if what was counted woke it; after a fence
  void retry();
  void forget(RegionId region);  // it is gone

  // Not empty: the connection broke, and why.
  const std::string& broken() const { return broken_; }
  // Every flight ends. A peer that still reads a payload will find that we have let go of it.
  void close(const std::string& why);

 private:
  enum class State : std::uint8_t { Dialing, Greeting, Open, Closed };
  enum class Step : std::uint8_t { Done, Kept, Blocked, Copying };
  enum class Blocked : std::uint8_t { No, ByRoom, ByBudget, BySocket };
  struct OnItsWay {
    Flight* flight = nullptr;  // null: its payload was copied, nobody waits
    RegionPtr region;          // of the flight's payload, which must stay as long as it is read
    Lease lease;               // where the payload was copied to
    std::uint64_t size = 0;
    std::uint64_t copied = 0;
    bool offered = false;
    bool wanted = false;
  };
  struct Announcement {
    RegionId id = 0;
    RegionPtr region;  // null: it is gone
  };

  LaneHead& lane() const { return *reinterpret_cast<LaneHead*>(memory_.data()); }
  const AnswerHead& answers() const {
    return *reinterpret_cast<const AnswerHead*>(answers_->data());
  }
  void fail(std::string why);
  void dial();
  void on_readable();
  void greet(const Note& challenge);
  void welcome(const Note& note, std::vector<UniqueFd> descriptors);

  bool room();
  void look_at_taken();
  Step place(Flight& flight);
  Step place_eager(Flight& flight);
  Step place_staged(Flight& flight);
  Step place_offer(Flight& flight);
  Step stage_wanted(std::uint64_t number);
  bool announce(const RegionPtr& region);
  void flush_announcements();
  bool take_lease(Lease& lease, std::uint64_t size);
  void publish(const Descriptor& descriptor);
  bool pump();
  bool take_answers();
  bool answer(std::uint64_t word);
  void end(Flight& flight, std::string failure) {
    core_->ended.push_back({&flight, std::move(failure)});
  }
  void counted(std::uint64_t what);
  void ring_for(std::uint64_t what);

  Core* core_;
  const LifeId peer_;
  const std::string socket_name_;
  State state_ = State::Dialing;
  std::string broken_;
  UniqueFd socket_;
  bool watched_ = false;
  bool greeted_ = false;
  Nonce challenge_{};
  Nonce hello_{};

  OwnMemory memory_;
  std::unique_ptr<const PeerMemory> answers_;
  UniqueFd bell_;
  std::uint32_t answer_slots_ = 0;

  std::uint64_t published_ = 0;
  std::uint64_t taken_ = 0;  // by the peer, as last seen
  std::uint64_t answers_taken_ = 0;
  std::uint64_t eager_head_ = 0;  // bytes ever written into the eager ring, the gaps included
  std::uint64_t eager_tail_ = 0;  // of these, bytes that the peer has taken
  std::vector<std::uint64_t> eager_end_;  // by slot: eager_head_ after its message
  std::uint64_t rung_ = 0;                // the sleep for which we have rung already
  std::uint64_t counted_ = 0;             // what wakes the peer, of which it may sleep unseen

  std::deque<Flight*> queue_;  // not in the lane yet, oldest first
  Lease front_;                // where the first of them is being copied to,
  std::uint64_t front_copied_ = 0;
  std::deque<std::uint64_t> wanted_;  // offers that the peer has asked for
  Blocked blocked_ = Blocked::No;     // why the last pump() stopped
  std::uint64_t next_number_ = 1;
  std::map<std::uint64_t, OnItsWay> flights_;
  std::uint64_t staged_ = 0;         // bytes that the peer has not asked for,
  std::uint64_t wanted_staged_ = 0;  // and that it has: these are surely released soon
  std::set<RegionId> announced_;
  std::deque<Announcement> announcements_;  // that the socket has not taken yet
};

}  // namespace shoal::shm
