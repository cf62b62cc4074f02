// GradientParts: the parts of the gradient, one for each member, its owner, which gets the sum of
// the part and updates the same part of the state. Each part is one contiguous piece of the whole
// gradient; the part of a bucket is its intersection with that piece.
#pragma once

#include "collective/group.h"
#include "replica/replica.h"
#include "runtime/range.h"
#include "runtime/task.h"
#include "sync/dealing.h"
#include "sync/logical_shards.h"
#include "sync/sync_context.h"

namespace shoal {

class GradientParts {
 public:
  GradientParts(Replica& replica, const SyncContext& context, const Dealing& dealing,
                LogicalShards& shards)
      : replica_(replica), context_(context), dealing_(dealing), shards_(shards) {}

  // Nearly equal parts, of whole units if each part has many units.
  void begin_view(std::uint64_t members, Elements unit);
  const Cuts& cuts() const { return cuts_; }
  Range of(Rank owner) { return cut_of(replica_.g().all(), cuts_[owner.value()]); }
  // The parts of a bucket.
  Cuts cuts_of(const Ready& bucket);
  Range own_part(const Group& group, const Ready& bucket);
  // Sums the gradients that count, each part at its owner.
  Task<void> reduce_scatter(const Group& group, const Ready& bucket);

 private:
  Replica& replica_;
  const SyncContext& context_;
  const Dealing& dealing_;
  LogicalShards& shards_;
  Cuts cuts_;  // by rank
};

}  // namespace shoal
