// StateUpdate: the optimizer's step of a synchronous worker, on parts of its replica.
//
//   measure   norms of the summed gradient, if the rule needs them
//   apply     a part of the gradient moves the same part of the state: in place, or to the copy of
//             the state that counts after the step
//
// A member that has no state yet waits here until the state has come.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collective/dissemination.h"
#include "collective/group.h"
#include "learner/learner.h"
#include "optim/update.h"
#include "replica/replica.h"
#include "runtime/channel.h"
#include "runtime/node.h"
#include "runtime/task.h"
#include "sync/dealing.h"
#include "sync/sharded_state.h"
#include "sync/sync_context.h"

namespace shoal {

class StateUpdate {
 public:
  StateUpdate(Node& node, const Learner& learner, Replica& replica, const SyncContext& context,
              const Dealing& dealing);

  // `copies`: the next state is made in the copy. `aside`: while a gradient is computed.
  void begin_view(bool copies, bool aside) {
    copies_ = copies;
    aside_ = aside;
  }
  void begin_step() { norms_ = Sums(); }
  void state_arrived() { state_here_.notify_all(); }

  // Learning rate and number of this step.
  UpdateStep step() const;
  bool needs_norms() const { return rounds(context_.rule) > 0; }
  unsigned slots_each() const { return slots(context_.rule); }
  // Computes the norms that the rule needs from these ranges of the gradient. `shared`: they are
  // the part of this member, and the sums of all members are added.
  Task<void> measure(const Group& group, std::vector<Range> of_g, bool shared);
  // `terms`: the gradient is the sum of these, if it is not in g.
  Task<void> apply(Range of_g, std::span<const float* const> terms = {});
  // The same for the own part, whose arrays lie in `held`.
  Task<void> apply_held(Range of_g, std::span<const float* const> terms, ShardedState& held);

  // The elements of one array of the state (0: the parameters) that belong to these elements of
  // the gradient.
  Range array(const Range& of_g, unsigned array);
  // The same in the copy.
  Range next_array(const Range& of_g, unsigned array);

 private:
  UpdateTarget target_of(Range of_g);

  Node& node_;
  Replica& replica_;
  const SyncContext& context_;
  const Dealing& dealing_;
  const std::vector<Segment> segments_;
  bool copies_ = false, aside_ = false;
  Signal state_here_;
  Sums norms_;
  Gathering gathering_;
};

}  // namespace shoal
