// Expected failures. A type exists here only if some code reacts to it specially.
//
// Messages name the problem, the values, and the next action. The awaited operation throws, and one
// place catches: the recovery loop of a strategy or the main function of a command.
// include/shoal/error.h has the errors that users of the C++ API see.
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

// This node was evicted while it was away. It may return only as a new incarnation.
class Fenced : public Error {
 public:
  using Error::Error;
};

// The awaiting task was cancelled. Never swallow it: the canceller waits for the task's end.
class Cancelled : public Error {
 public:
  Cancelled() : Error("cancelled") {}
};

// Malformed bytes from outside (a peer, a file).
class Corrupt : public Error {
 public:
  using Error::Error;
};

}  // namespace shoal
