// The part of a live node's endpoint that does not depend on the transport.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/types.h"
#include "runtime/endpoint.h"
#include "runtime/env.h"
#include "runtime/live/loop.h"
#include "runtime/mailbox.h"
#include "runtime/view.h"

namespace shoal {

// Thread safety: none; it belongs to the thread of its loop. Invariant: operations are parked only
// when it is not Open; they end with Fenced, or wait to be cancelled when it is Dead.
class LiveEndpoint : public Endpoint, public StallSource {
 public:
  // A view has arrived: nodes that it lacks are lost.
  virtual void adopt(const ViewPtr& view) = 0;
  // That incarnation of a peer has ended.
  virtual void lose(NodeId peer, Incarnation life, const std::string& why) = 0;
  // This incarnation was evicted: all operations fail with Fenced, but only when no peer reads from
  // our ranges, because the program then frees them.
  void fence(const std::string& why);
  // The hook runs when that has happened, or when a peer has replied that this incarnation has
  // ended.
  void on_fenced(std::function<void(const std::string& why)> hook) {
    fenced_hook_ = std::move(hook);
  }
  // This incarnation has ended. From now on operations neither complete nor fail, and the peers are
  // told. `quiet` is called as soon as no peer reads from our ranges: then cancel the program.
  virtual void die(const std::string& why, std::function<void()> quiet) = 0;

 protected:
  enum class State : std::uint8_t { Open, Fencing, Fenced, Dead };

  explicit LiveEndpoint(Env& env) : env_(&env) {}
  State state() const { return state_; }
  void dead() { state_ = State::Dead; }
  const std::exception_ptr& fenced() const { return fenced_; }  // the error of operations
  // An operation that ends when the endpoint is quiet, or is cancelled.
  void park(SendOp& op) { parked_.push_back(&op); }
  void unpark(SendOp& op) { std::erase(parked_, &op); }
  // Records nothing once the node is dead.
  void record(EventKind kind, NodeId peer, const Tag& tag, Bytes size, std::uint64_t c) {
    if (state_ != State::Dead) env_->record(message_event(kind, peer, tag, size, c));
  }
  Env& env() { return *env_; }

 private:
  // Withdraws messages where possible, and calls `quiet` when no peer reads from our ranges.
  virtual void quiesce(std::function<void()> quiet) = 0;
  virtual void fail_receives(const std::exception_ptr& error) = 0;

  Env* env_;
  State state_ = State::Open;
  std::exception_ptr fenced_;
  std::vector<SendOp*> parked_;
  std::function<void(const std::string&)> fenced_hook_;
};

}  // namespace shoal
