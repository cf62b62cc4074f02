// LayerWaits: a forward pass that waits for the parameters of each layer when it comes to it. While
// one lives, every operation that libtorch begins on this thread first waits at the gate for the
// parameters among its inputs; the network needs to know nothing of it.
//
// What reads parameters by their addresses, outside of libtorch's operations, would not wait: so it
// is for networks that are known not to (TorchModel::by_operations).
#pragma once

#include <cstdint>

#include "learner/gate.h"
#include "runtime/env.h"
#include "runtime/range.h"

namespace shoal {

struct LayerWaitsImpl;  // what libtorch calls

class LayerWaits {
 public:
  // Null: nothing waits. `parameters` are those that the gate is about.
  LayerWaits(ParameterGate* gate, Env& env, Range parameters);
  ~LayerWaits();
  LayerWaits(const LayerWaits&) = delete;
  LayerWaits& operator=(const LayerWaits&) = delete;

  // For all that is left. Throws Cancelled when the gate refuses, or has: libtorch lets nothing be
  // thrown in between, so the pass goes on until here with whatever is there.
  void finish();

 private:
  friend struct LayerWaitsImpl;

  ParameterGate* gate_;
  Env& env_;
  Range parameters_;
  std::uint64_t handle_ = 0;
};

}  // namespace shoal
