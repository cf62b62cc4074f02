// What a live world does with the endpoint of one of its nodes, whatever carries its messages.
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
// once it is not Open, and end with Fenced, or wait to be cancelled when it is Dead.
class LiveEndpoint : public Endpoint, public StallSource {
 public:
  // A view arrived: who is not in it is lost.
  virtual void adopt(const ViewPtr& view) = 0;
  // That life of a peer is over.
  virtual void lose(NodeId peer, Incarnation life, const std::string& why) = 0;
  // This life was evicted: all operations fail with Fenced, as soon as no peer reads from our
  // ranges any more, because the program frees them when it hears of it.
  void fence(const std::string& why);
  // Called when that has happened, or when a peer answered that this life is over.
  void on_fenced(std::function<void(const std::string& why)> hook) {
    fenced_hook_ = std::move(hook);
  }
  // This life is over. Operations neither complete nor fail from now on, the peers are told, and
  // `quiet` is called as soon as no peer reads from our ranges any more: then cancel the program.
  virtual void die(const std::string& why, std::function<void()> quiet) = 0;

 protected:
  enum class State : std::uint8_t { Open, Fencing, Fenced, Dead };

  explicit LiveEndpoint(Env& env) : env_(&env) {}
  State state() const { return state_; }
  void dead() { state_ = State::Dead; }
  const std::exception_ptr& fenced() const { return fenced_; }  // what operations fail with
  // An operation that will end when the endpoint is quiet, or be cancelled.
  void park(SendOp& op) { parked_.push_back(&op); }
  void unpark(SendOp& op) { std::erase(parked_, &op); }
  // The dead do not speak.
  void record(EventKind kind, NodeId peer, const Tag& tag, Bytes size, std::uint64_t c) {
    if (state_ != State::Dead) env_->record(message_event(kind, peer, tag, size, c));
  }
  Env& env() { return *env_; }

 private:
  // Takes back what it can, and calls `quiet` when no peer reads from our ranges any more.
  virtual void quiesce(std::function<void()> quiet) = 0;
  virtual void fail_receives(const std::exception_ptr& error) = 0;

  Env* env_;
  State state_ = State::Open;
  std::exception_ptr fenced_;
  std::vector<SendOp*> parked_;
  std::function<void(const std::string&)> fenced_hook_;
};

}  // namespace shoal
