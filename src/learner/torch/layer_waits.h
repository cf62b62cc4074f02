// LayerWaits: makes a forward pass wait for the parameters of each layer. While it lives, every
// operation that libtorch begins on this thread first waits at the gate for the parameters among
// its inputs; the network is unaware of this.
//
// Code that reads parameters by address, outside of libtorch's operations, would not wait. So it is
// only for networks that are known not to do this (TorchModel::by_operations).
#pragma once

#include <cstdint>

#include "learner/gate.h"
#include "runtime/env.h"
#include "runtime/range.h"

namespace shoal {

struct LayerWaitsImpl;  // the part that libtorch calls

class LayerWaits {
 public:
  // Null: nothing waits. `parameters`: the range of the gate.
  LayerWaits(ParameterGate* gate, Env& env, Range parameters);
  ~LayerWaits();
  LayerWaits(const LayerWaits&) = delete;
  LayerWaits& operator=(const LayerWaits&) = delete;

  // Waits for the remaining parameters. Throws Cancelled if the gate refuses or has refused:
  // libtorch lets no exception pass in between, so the pass runs to this point with any values.
  void finish();

 private:
  friend struct LayerWaitsImpl;

  ParameterGate* gate_;
  Env& env_;
  Range parameters_;
  std::uint64_t handle_ = 0;
};

}  // namespace shoal
