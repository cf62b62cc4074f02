// Node: the world as a node program gets it; the four interfaces of the seam, passed explicitly.
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

// What a node runs, in either world. It gets Fenced when the node was evicted, and is then started
// anew as another incarnation; the Node outlives the task.
using NodeProgram = std::function<Task<void>(Node&)>;

}  // namespace shoal
