// EncodedSums: sums of encoded gradients, and the residual that this worker keeps between steps:
// that of its encoder, or of its low-rank approximation. The algorithms are in encoded/.
//
// Failure: residuals change only when the step counts (commit). A lost worker's residual is lost
// with it, unless it was saved: per_worker_state() lists the residuals.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "collective/group.h"
#include "encoded/encoder.h"
#include "encoded/low_rank.h"
#include "learner/learner.h"
#include "replica/per_worker_state.h"
#include "replica/replica.h"
#include "runtime/node.h"
#include "runtime/task.h"
#include "sync/dealing.h"
#include "sync/sync_context.h"

namespace shoal {

class EncodedSums {
 public:
  EncodedSums(Node& node, Learner& learner, const Replica& replica, const SyncContext& context,
              const Dealing& dealing);

  // Whether the recipe leaves the encodings open (`--encode auto`).
  bool is_open() const;
  // Sets the chosen encodings: from now on all gradients are summed here.
  bool is_chosen() const { return is_open() && encoder_.has_value(); }
  void choose(std::span<const Encoding> of_pieces);

  void begin_step(const Group& group);
  // Whether the encoding begins after some epochs.
  bool begins_later() const { return later_; }
  // Whether this class encodes the gradients of this step.
  bool active() const { return (encoder_ || low_rank_) && !later_; }
  // Encodes gradients during the backward pass; null: they are encoded later, bucket by bucket.
  Encoder* sink(const Group& group, std::size_t passes);
  // Computes the sum over all members, on all of them.
  Task<void> all_reduce(const Group& group, Range g, std::uint64_t operation);
  void commit();

  std::vector<PerWorkerArray> per_worker_state();
  // Takes over the residuals of workers that are not in the view.
  void inherit(std::span<const KeptArray> kept, const View& view);

 private:
  Node& node_;
  Learner& learner_;
  const Replica& replica_;
  const SyncContext& context_;
  const Dealing& dealing_;
  // One of these exists if the recipe encodes.
  std::optional<Encoder> encoder_;
  std::optional<LowRankSums> low_rank_;
  Generation low_rank_in_;  // the view in which it began
  // In this step.
  EncodedForm form_ = EncodedForm::Gather;
  bool later_ = false;
};

}  // namespace shoal
