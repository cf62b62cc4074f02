// ModelBuffers: the buffers of the model (running statistics) during a synchronous step. A forward
// pass changes them in place, and each worker's passes see other samples. So every micro-shard
// begins with the buffers before the step, and the step ends with the mean over the micro-shards,
// by samples:
//
//   keep         before the first pass
//   put back     after each micro-shard, whose buffers are kept aside; and when a step is aborted
//   average      an all-gather of what was kept aside, the mean of it
//   finish       the mean becomes the state
//
// Buffers that cannot be averaged are taken from the first micro-shard that counts.
#pragma once

#include <cstddef>
#include <vector>

#include "collective/dissemination.h"
#include "collective/group.h"
#include "learner/layout.h"
#include "replica/replica.h"
#include "runtime/task.h"
#include "sync/dealing.h"

namespace shoal {

class ModelBuffers {
 public:
  ModelBuffers(Replica& replica, const Layout& layout, const Dealing& dealing)
      : replica_(replica), layout_(layout), dealing_(dealing) {}

  void keep();
  // A micro-shard is computed.
  void take();
  // The buffers after the micro-shard of this number among the own ones.
  void keep_after(std::size_t micro_shard);
  void put_back();
  Task<void> average(const Group& group);
  void finish();
  void give_up();
  // The state was replaced: drops the buffers of the old one.
  void state_arrived() { kept_ = false; }

 private:
  Replica& replica_;
  const Layout& layout_;
  const Dealing& dealing_;
  Gathering gathering_;
  std::vector<float> before_;  // the step, valid if kept_
  bool kept_ = false;
  std::vector<float> after_;  // each own micro-shard, one after the other
  std::vector<float> next_;   // the mean
};

}  // namespace shoal
