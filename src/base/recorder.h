// The flight recorder: the last operations of every node, with sequence numbers.
//
// Live, it is dumped on a failed check, a stall or a signal. In simulation it also feeds the
// invariant checkers and the hash that compares two runs of one seed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/names.h"
#include "base/types.h"

namespace shoal {

// The kinds of events. Each comment describes a, b and c.
enum class EventKind : std::uint8_t {
  // Messages: a = tag id, b = bytes, c = sequence of the message.
  SendPosted,
  SendDone,
  RecvPosted,
  RecvDone,
  MessageDropped,  // c = DropReason
  OpCancelled,
  RangeReused,  // A violation: a busy range was posted again or changed. a = tag id, b = bytes
  // Membership; generation of the view.
  ViewSeen,  // a = members, b = hash of the members
  FencedOut,
  // The synchronous step: a = step; generation = the view in which it was reduced.
  ShareAdded,   // b = first position, counted over all epochs, c = positions: a share in the own
                // gradient
  StepApplied,  // b = hash of the state after it, c = position of the ledger after it, or
                // kNoPosition if samples do not count in order
  StateAgreed,  // at the start of a view: a = step, b = hash of the parameters, c = lineage
  CheckpointBegun,  // b = hash of the parameters
  CheckpointDone,   // b = hash of the parameters: they survive any crash from now on
  CheckpointRead,   // b = hash of the parameters, c = 0 if there was none
  WorkerDone,       // b = hash of the parameters
  // Servers: a read by a worker.
  ReadServed,  // peer = the worker, a = its clock, b = the smallest clock of the members, c = bound
  // Decentral training, in audited jobs; numbers are the bits of doubles.
  MessageSent,   // peer = receiver, a = kind, b = hash of the content
  MessageTaken,  // the same; peer = sender
  WeightHeld,    // when a view begins: a = the member's share of the total weight
  WeightSent,    // peer = receiver, a = weight sent, b = weight kept
  WeightTaken,   // peer = sender, a = weight received, b = weight after it
  // ModelMoved: an exchange changed a model. peer = partner, kNobody for the whole view, or the
  // node itself; a = moment of the change, b = moment of its numbers, c = number of the operation.
  ModelMoved,
  ResultFormed,  // no message is in flight
  // Simulation.
  NodeStarted,
  NodeCrashed,
  NodeFrozen,
  NodeThawed,
  FaultBegun,    // peer = the affected node, a = kind, b = factor in 1/1000
  FaultEnded,    // the same; kNobody: all nodes
  FileDataLost,  // a = files
};
std::string_view to_string(EventKind kind);
inline constexpr std::size_t kEventKinds = count_up_to(EventKind::FileDataLost);

inline constexpr std::uint64_t kNoPosition = ~std::uint64_t{0};

enum class DropReason : std::uint8_t { None, OldIncarnation, Retired, ReceiverGone, Cancelled };

struct Event {
  Time at{};
  std::uint64_t sequence = 0;  // given by the recorder
  NodeId node = kNobody;
  NodeId peer = kNobody;
  Incarnation incarnation{};
  Generation generation{};
  GroupId group{};
  EventKind kind{};
  std::uint64_t a = 0, b = 0, c = 0;
};
static_assert(sizeof(Event) == 64, "one cache line: records are written on every message");

std::string describe(const Event& event);

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on(const Event& event) = 0;
};

// Thread safety: one thread records; dump() may be called in a loop turn that handles a signal.
class Recorder {
 public:
  // Live runs differ anyway, and hashing costs more than the rest of record(), so they do not hash.
  enum class Hashed : bool { No, Yes };
  static constexpr std::size_t kDepth = 1024;
  // Keeps the last `depth` events of each node (a power of two, grown on demand).
  explicit Recorder(std::size_t depth = kDepth, Hashed hashed = Hashed::Yes);

  void observe(Observer& observer) { observers_.push_back(&observer); }
  void record(const Event& event);  // sequence is filled in

  std::uint64_t events() const { return sequence_; }
  std::uint64_t hash() const { return hash_.value(); }
  void mix(std::uint64_t word) { hash_.add(word); }  // adds the final state to the hash of the run

  std::vector<Event> last(NodeId node) const;  // oldest first
  // The last `count` events of each node, merged by sequence.
  std::string dump(std::size_t count) const;

 private:
  struct Ring {
    std::vector<Event> events;
    std::size_t next = 0;
  };

  std::size_t depth_;
  const bool hashed_;
  std::uint64_t sequence_ = 0;
  Hash hash_;
  std::vector<Observer*> observers_;
  std::vector<Ring> rings_;  // by node; ids are small
};

}  // namespace shoal
