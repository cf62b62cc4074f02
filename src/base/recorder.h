// The flight recorder: the last operations of every node, with sequence numbers.
//
// Live it is dumped on a failed check, a stall or a signal; in simulation it also feeds the
// invariant checkers and the hash by which two runs of one seed are compared.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/names.h"
#include "base/types.h"

namespace shoal {

// What happened. The comment names what a, b and c hold.
enum class EventKind : std::uint8_t {
  // Messages: a = tag id, b = bytes, c = sequence of the message.
  SendPosted,
  SendDone,
  RecvPosted,
  RecvDone,
  MessageDropped,  // c = DropReason
  OpCancelled,
  RangeReused,  // A violation: a busy range was posted again or changed. a = tag id, b = bytes
  // Membership: generation of the view.
  ViewSeen,  // a = members, b = hash of who they are
  FencedOut,
  // The synchronous step: a = step; generation = that of the view it was reduced in.
  ShareAdded,   // b = first position, counted over all epochs, c = positions: in the own gradient
  StepApplied,  // b = hash of the state after it, c = position of the ledger after it,
                // or kNoPosition where samples do not count in order
  StateAgreed,  // at the start of a view: a = step, b = hash of the parameters, c = lineage
  CheckpointBegun,  // b = hash of the parameters
  CheckpointDone,   // b = hash of the parameters: promised to survive any crash
  CheckpointRead,   // b = hash of the parameters, c = 0 when there was none
  WorkerDone,       // b = hash of the parameters
  // Servers: what a worker was given to read.
  ReadServed,  // peer = the worker, a = its clock, b = the least clock of all who count, c = bound
  // Models that meet, where a job is audited; numbers are the bits of doubles.
  MessageSent,   // peer = to whom, a = its kind, b = hash of what is in it
  MessageTaken,  // the same; peer = from whom
  WeightHeld,    // when a view begins: a = the member's weight of all
  WeightSent,    // peer = to whom, a = what goes, b = what stays
  WeightTaken,   // peer = from whom, a = what has come, b = what there is then
  ModelMoved,    // by an exchange; peer = with whom; kNobody: all of the view; or the node itself:
                 // a = moment of the move, b = of the numbers in it, c = number of what all do
  ResultFormed,  // nothing is under way
  // The world, in simulation.
  NodeStarted,
  NodeCrashed,
  NodeFrozen,
  NodeThawed,
  FaultBegun,    // peer = the node it strikes, a = its kind, b = factor in 1/1000
  FaultEnded,    // the same; kNobody: all of them
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

// Thread safety: one thread records; dump() may be called from a signal handler's loop turn.
class Recorder {
 public:
  // No two live runs are alike, and nobody asks for their hashes, which cost more than the rest.
  enum class Hashed : bool { No, Yes };
  static constexpr std::size_t kDepth = 1024;
  // Keeps the last `depth` events of each node (a power of two, grown on demand).
  explicit Recorder(std::size_t depth = kDepth, Hashed hashed = Hashed::Yes);

  void observe(Observer& observer) { observers_.push_back(&observer); }
  void record(const Event& event);  // sequence is filled in

  std::uint64_t events() const { return sequence_; }
  std::uint64_t hash() const { return hash_.value(); }
  void mix(std::uint64_t word) { hash_.add(word); }  // final state, into the run's hash

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
