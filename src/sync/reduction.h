// Reduction: how the gradients of all members become the next state of each, in a synchronous step.
// A class for each way, in a file of its own:
//
//   everyone_reduction   everyone gets the sum, by all-reduce, and updates all of its state
//   owners_reduction     each owner gets the sum of its part, updates it, and sends it to all
//   one_host_reduction   the same in shared memory: gradients and state are read where they lie
//   root_reduction       rank 0 gets the sum, updates, and sends the state to all
//   priority_reduction   as everyone, in chunks, those first that the next step needs first
//   apart_reduction      nothing is summed
//
// A step calls, in this order:
//
//   reduce(bucket)   for each bucket, as soon as backward has made it: the sum
//   apply(bucket), spread(bucket)   where the next state is made in a copy
//   hold()           all that finish() needs is here now, or in memory that outlives its owner
//   -- all members tell each other that they are here: from now on the step counts --
//   finish()         the state is the one after the step; waits for no other member for long
//   let_go()         also if the step is given up before it counts
//
// Until all have told, the state is the one before the step. Either the next state is made in a
// copy, or the update is made in place by finish().
#pragma once

#include "collective/group.h"
#include "learner/learner.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

class Reduction {
 public:
  virtual ~Reduction() = default;

  virtual void begin_view(const View& view, Rank own) = 0;
  // Before anything is written to g.
  virtual void begin_step() {}
  virtual Task<void> reduce(const Group& group, const Ready& bucket) = 0;
  // Updates the own part of the copy by the own part of the bucket.
  virtual Task<void> apply(const Group& group, const Ready& bucket);
  // Sends the updated part to all other members.
  virtual Task<void> spread(const Group& group, const Ready& bucket);
  virtual Task<void> hold(const Group& group);
  virtual Task<void> finish(const Group& group) = 0;
  virtual void let_go() {}

  // The next state is made in a copy.
  virtual bool copies_state() const { return false; }
  // Buckets are of use before the last one is there.
  virtual bool takes_buckets() const { return true; }
  // The sum has the same bits however the gradient is cut into buckets.
  virtual bool any_buckets() const { return false; }
  // For norms: the part of the bucket's sum that this member has; and whether every member has all.
  virtual Range summed(const Group& group, const Ready& bucket) = 0;
  virtual bool sums_whole() const { return true; }
};

inline Task<void> Reduction::apply(const Group&, const Ready&) { co_return; }
inline Task<void> Reduction::spread(const Group&, const Ready&) { co_return; }
inline Task<void> Reduction::hold(const Group&) { co_return; }

}  // namespace shoal
