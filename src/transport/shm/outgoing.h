// The direction to an incarnation of a peer: a lane that we write and it reads, and the answers
// that it writes.
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
// 2. A flight is in exactly one of queue_, flights_ and core.ended.
// 3. The queue is unblocked without any message being matched: slots and eager bytes are freed when
//    the peer has read them, and staging memory never blocks it (the message is offered instead).
// Large class: it holds the state of both sides of a connection, socket and lane, which break and
// end together.
class Outgoing {
 public:
  Outgoing(Core& core, LifeId peer, std::string socket_name);
  ~Outgoing();
  Outgoing(const Outgoing&) = delete;
  Outgoing& operator=(const Outgoing&) = delete;

  bool send(Flight& flight);  // see Carrier::send
  bool poll();
  void arm(std::uint64_t sleep);
  void disarm();
  bool has_news() const;  // after arm(): an event came meanwhile
  void wake();            // wakes the peer if a counter affects it; call it after a fence
  void retry();
  void forget(RegionId region);  // the region has ended

  // Not empty: the connection broke, for this reason.
  const std::string& broken() const { return broken_; }
  // Ends every flight. A peer that still reads a payload will find that we have released it.
  void close(const std::string& why);

 private:
  enum class State : std::uint8_t { Dialing, Greeting, Open, Closed };
  enum class Step : std::uint8_t { Done, Kept, Blocked, Copying };
  enum class Blocked : std::uint8_t { No, ByRoom, ByBudget, BySocket };
  struct OnItsWay {
    Flight* flight = nullptr;  // null: its payload was copied, nothing waits
    RegionPtr region;          // contains the flight's payload, and must stay while it is read
    Lease lease;               // the copy of the payload
    std::uint64_t size = 0;
    std::uint64_t copied = 0;
    bool offered = false;
    bool wanted = false;
  };
  struct Announcement {
    RegionId id = 0;
    RegionPtr region;  // null: it has ended
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
  std::uint64_t eager_head_ = 0;          // bytes ever written into the eager ring, including gaps
  std::uint64_t eager_tail_ = 0;          // those that the peer has taken
  std::vector<std::uint64_t> eager_end_;  // by slot: eager_head_ after its message
  std::uint64_t rung_ = 0;                // the last sleep for which we rang
  std::uint64_t counted_ = 0;             // flags for the peer's counters, in case it sleeps unseen

  std::deque<Flight*> queue_;  // not in the lane yet, oldest first
  Lease front_;                // the copy of the first one,
  std::uint64_t front_copied_ = 0;
  std::deque<std::uint64_t> wanted_;  // offers that the peer wants
  Blocked blocked_ = Blocked::No;     // why the last pump() stopped
  std::uint64_t next_number_ = 1;
  std::map<std::uint64_t, OnItsWay> flights_;
  std::uint64_t staged_ = 0;         // bytes that the peer has not asked for,
  std::uint64_t wanted_staged_ = 0;  // and those it has, which will be released soon
  std::set<RegionId> announced_;
  std::deque<Announcement> announcements_;  // not accepted by the socket yet
};

}  // namespace shoal::shm
