// Expected failures. A type exists here only if some code reacts to it in a way of its own.
//
// Messages say what, with which values, and what to do next. They are thrown by the awaited
// operation and caught in one place, the recovery loop of a strategy or the main of a command.
// include/shoal/error.h has those that users of the C++ API see.
#pragma once

#include <fmt/core.h>

#include <string>

#include "base/types.h"
#include "shoal/error.h"

namespace shoal {

// The peer died, was cut off or was evicted; the operation with it will never complete.
class PeerLost : public Error {
 public:
  PeerLost(NodeId peer, const std::string& why)
      : Error(fmt::format("lost node {}: {}", peer, why)), peer_(peer) {}
  NodeId peer() const { return peer_; }

 private:
  NodeId peer_;
};

// This node was evicted while it was away. It may only come back as a new incarnation.
class Fenced : public Error {
 public:
  using Error::Error;
};

// The awaiting task was cancelled. Never swallow it: whoever cancelled waits for the task's end.
class Cancelled : public Error {
 public:
  Cancelled() : Error("cancelled") {}
};

// Bytes from outside (a peer, a file) that cannot be what they claim to be.
class Corrupt : public Error {
 public:
  using Error::Error;
};

}  // namespace shoal
