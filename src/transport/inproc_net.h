// What the in-process endpoints of one job share: who can be reached where, and the parcels that
// go between them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/list.h"
#include "base/types.h"
#include "runtime/buffer.h"
#include "runtime/endpoint.h"
#include "runtime/header.h"
#include "runtime/live/loop.h"
#include "runtime/mailbox.h"

namespace shoal {

class InprocEndpoint;

// Where one life of a node is reached. It outlives the endpoint, so that whoever still sends to it
// learns that it is gone. Thread safety: `endpoint` belongs to the thread of `loop`.
struct InprocPort {
  const NodeId node;
  const Incarnation incarnation;
  LiveLoop* const loop;
  InprocEndpoint* endpoint = nullptr;
};
using InprocPortPtr = std::shared_ptr<InprocPort>;

// A message on its way: the real header, then the payload, in the frame (eager) or still in the
// sender's own range (rendezvous).
//
//                 claim()                       release()
//     Pending ---------------> Copying -------------------------> Done
//        |        (receiver)               (receiver, when it has read the last byte, or gave up)
//        +-------------------> Revoked
//                 revoke()     (sender)
//
// Thread safety: the state is atomic; every other member belongs to the side named above it, or is
// constant once the parcel was handed over. Invariants:
// 1. The receiver reads the sender's range only between claim() and release().
// 2. The sender lets go of a range only after revoke() succeeded or after the release was seen.
struct InprocParcel final : Arrival,
                            ListHook<struct InTransfers>,
                            std::enable_shared_from_this<InprocParcel> {
  InprocParcel(InprocPortPtr from_port, InprocPortPtr to_port, std::vector<std::byte> bytes)
      : sender(std::move(from_port)), target(std::move(to_port)), frame(std::move(bytes)) {}

  bool claim() { return move_on(State::Pending, State::Copying); }
  bool revoke() { return move_on(State::Pending, State::Revoked); }
  // Also of a parcel that was never claimed. False: it was revoked, and its sender knows.
  bool release() {
    return move_on(State::Copying, State::Done) || move_on(State::Pending, State::Done);
  }

  // Constant once handed over.
  const InprocPortPtr sender;
  const InprocPortPtr target;
  const std::vector<std::byte> frame;  // the header; when eager, also the payload
  ConstBuf range;                      // the payload, if it is not in the frame
  bool in_frame = true;
  bool rendezvous = false;  // the sender waits for the answer
  // Set by the sender, seen by the receiver before each slice: read no further.
  std::atomic<bool> stop = false;

  // The sender's.
  SendOp* op = nullptr;      // null once it was cancelled
  std::uint64_t flight = 0;  // its number among the sender's flights
  Tag sent_tag;
  std::exception_ptr error;  // what the operation ends with, if it was lost while being copied

  // The receiver's.
  std::shared_ptr<InprocParcel> keep;  // while it waits in the mailbox or is being copied
  RecvOp* receive = nullptr;
  std::uint64_t copied = 0;
  bool in_transfer() const { return ListHook<struct InTransfers>::linked(); }
  ConstBuf payload() const {
    return in_frame ? ConstBuf{frame.data() + kHeaderSize, Bytes(frame.size() - kHeaderSize)}
                    : range;
  }

 private:
  enum class State : std::uint8_t { Pending, Copying, Done, Revoked };
  bool move_on(State before, State after) {
    return state_.compare_exchange_strong(before, after, std::memory_order_acq_rel,
                                          std::memory_order_acquire);
  }
  std::atomic<State> state_ = State::Pending;
};
using InprocParcelPtr = std::shared_ptr<InprocParcel>;

// How a parcel ended, as its sender learns it.
enum class InprocOutcome : std::uint8_t {
  Delivered,  // taken, or dropped because its generation was retired
  Stopped,    // not read to the end, as its sender wanted
  Gone,       // the receiver's life is over
  Fenced,     // the sender's is
};

// Thread safety: every method may be called from any thread.
class InprocNet {
 public:
  void attach(const InprocPortPtr& port);  // replaces an older incarnation
  // This life of a node is over; everyone else is told.
  void detach(const InprocPortPtr& port, const std::string& why);
  InprocPortPtr find(NodeId node) const;

  // Hands the parcel to the thread of its target, behind everything handed over before.
  static void deliver(const InprocParcelPtr& parcel);
  // After revoke(): the receiver may forget it.
  static void take_back(const InprocParcelPtr& parcel);
  // For tests: a frame as the network might bring it, on the connection of node `from` to `to`.
  void deliver_raw(NodeId from, NodeId to, std::vector<std::byte> frame);
  // Tells the sender of a parcel how it ended, and why.
  static void answer(const InprocParcelPtr& parcel, InprocOutcome outcome, std::string why);

 private:
  mutable std::mutex mutex_;
  std::map<NodeId, InprocPortPtr> ports_;  // guarded by mutex_
};

}  // namespace shoal
