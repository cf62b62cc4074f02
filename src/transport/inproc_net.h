// Shared by the in-process endpoints of one job: the ports of nodes, and the parcels between them.
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

// The port of an incarnation of a node. It outlives the endpoint, so that senders learn that the
// endpoint is gone. Thread safety: `endpoint` belongs to the thread of `loop`.
struct InprocPort {
  const NodeId node;
  const Incarnation incarnation;
  LiveLoop* const loop;
  InprocEndpoint* endpoint = nullptr;
};
using InprocPortPtr = std::shared_ptr<InprocPort>;

// A message in flight: the real header, then the payload, in the frame (eager) or still in the
// sender's own range (rendezvous).
//
//                 claim()                       release()
//     Pending ---------------> Copying -------------------------> Done
//        |        (receiver)               (receiver, when it has read the last byte, or gave up)
//        +-------------------> Revoked
//                 revoke()     (sender)
//
// Thread safety: the state is atomic; every other member belongs to the side named above it, or is
// constant after the parcel was passed on. Invariants:
// 1. The receiver reads the sender's range only between claim() and release().
// 2. The sender releases a range only after revoke() succeeded or after it has seen the release.
struct InprocParcel final : Arrival,
                            ListHook<struct InTransfers>,
                            std::enable_shared_from_this<InprocParcel> {
  InprocParcel(InprocPortPtr from_port, InprocPortPtr to_port, std::vector<std::byte> bytes)
      : sender(std::move(from_port)), target(std::move(to_port)), frame(std::move(bytes)) {}

  bool claim() { return move_on(State::Pending, State::Copying); }
  bool revoke() { return move_on(State::Pending, State::Revoked); }
  // Also for a parcel that was never claimed. False: it was revoked, as its sender knows.
  bool release() {
    return move_on(State::Copying, State::Done) || move_on(State::Pending, State::Done);
  }

  // Constant once passed on.
  const InprocPortPtr sender;
  const InprocPortPtr target;
  const std::vector<std::byte> frame;  // the header; when eager, also the payload
  ConstBuf range;                      // the payload, if it is not in the frame
  bool in_frame = true;
  bool rendezvous = false;  // the sender waits for the reply
  // Set by the sender, checked by the receiver before each slice: stop reading.
  std::atomic<bool> stop = false;

  // The sender's.
  SendOp* op = nullptr;      // null once it was cancelled
  std::uint64_t flight = 0;  // its number among the sender's flights
  Tag sent_tag;
  std::exception_ptr error;  // the error of the operation, if it was lost while being copied

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

// The end of a parcel, as reported to its sender.
enum class InprocOutcome : std::uint8_t {
  Delivered,  // taken, or dropped because its generation was retired
  Stopped,    // reading was stopped at the sender's request
  Gone,       // the receiver's incarnation has ended
  Fenced,     // the sender's incarnation has ended
};

// Thread safety: every method may be called from any thread.
class InprocNet {
 public:
  void attach(const InprocPortPtr& port);  // replaces an older incarnation
  // This incarnation of a node has ended; tells all others.
  void detach(const InprocPortPtr& port, const std::string& why);
  InprocPortPtr find(NodeId node) const;

  // Passes the parcel to the thread of its target, after all earlier ones.
  static void deliver(const InprocParcelPtr& parcel);
  // After revoke(): the receiver may forget it.
  static void take_back(const InprocParcelPtr& parcel);
  // For tests: delivers a frame on the connection from node `from` to node `to`.
  void deliver_raw(NodeId from, NodeId to, std::vector<std::byte> frame);
  // Tells the sender of a parcel how it ended, and the reason.
  static void answer(const InprocParcelPtr& parcel, InprocOutcome outcome, std::string why);

 private:
  mutable std::mutex mutex_;
  std::map<NodeId, InprocPortPtr> ports_;  // guarded by mutex_
};

}  // namespace shoal
