// EncodedSums: sums of gradients that are encoded on their way, and what this worker keeps of them
// from step to step: the residual of its encoder, or of its low-rank approximation.
// The algorithms are in encoded/.
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
#include "sync/sync.h"

namespace shoal {

class EncodedSums {
 public:
  EncodedSums(Node& node, Learner& learner, const Replica& replica, const SyncOptions& options,
              const Dealing& dealing);

  // The recipe leaves the encodings open (`--encode auto`).
  bool is_open() const;
  // They were open and have been chosen: all gradients are summed here from then on.
  bool is_chosen() const { return is_open() && encoder_.has_value(); }
  void choose(std::span<const Encoding> of_pieces);

  void begin_step(const Group& group);
  // The encoding begins after some epochs.
  bool begins_later() const { return later_; }
  // The gradients of this step are encoded, by this class.
  bool active() const { return (encoder_ || low_rank_) && !later_; }
  // Takes gradients as backward makes them; null: they are encoded later, bucket by bucket.
  Encoder* sink(const Group& group, std::size_t passes);
  // The sum over all members, at all of them.
  Task<void> all_reduce(const Group& group, Range g, std::uint64_t operation);
  void commit();

  std::vector<PerWorkerArray> per_worker_state();
  // Takes over the residuals of workers that are not in the view.
  void inherit(std::span<const KeptArray> kept, const View& view);

 private:
  Node& node_;
  Learner& learner_;
  const Replica& replica_;
  const SyncOptions& options_;
  const Dealing& dealing_;
  // One of them, where the recipe encodes.
  std::optional<Encoder> encoder_;
  std::optional<LowRankSums> low_rank_;
  Generation low_rank_in_;  // the view in which it began
  // In this step.
  EncodedForm form_ = EncodedForm::Gather;
  bool later_ = false;
};

}  // namespace shoal
