// Node: everything that a node program reaches; the four interfaces of the seam, passed explicitly.
#pragma once

#include <functional>

#include "base/types.h"
#include "runtime/endpoint.h"
#include "runtime/env.h"
#include "runtime/files.h"
#include "runtime/membership.h"

namespace shoal {

struct Node {
  NodeId id;
  Incarnation incarnation;
  Env& env;
  Endpoint& endpoint;
  Membership& membership;
  Files& files;
};

// The program of a node, live or simulated. It gets Fenced when the node was evicted, and is then
// started again as another incarnation; the Node outlives the task.
using NodeProgram = std::function<Task<void>(Node&)>;

}  // namespace shoal
