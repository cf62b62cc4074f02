// PriorityReduction: exchanges first the gradients that the next step needs first (`--order
// priority`). P3: Jayarajan, Wei, Gibson, Fedorova, Pekhimenko 2019, arXiv:1905.03960.
// ByteScheduler: Peng et al. 2019, SOSP, doi:10.1145/3341301.3359642.
//
//   backward of t:   bucket k of g is ready, last layer first
//     cut it into chunks of at most c bytes; they wait, those of the first layers in front
//   whenever fewer than two chunks are under way:
//     the foremost that waits: all-reduce(chunk), then w'[chunk] <- update(w, g)
//   meanwhile, as soon as backward of t has ended: the pass of t+1, on w' (early_pass.h)
//     forward of layer l waits until all of w'[l] is there
//   all have told that t can be finished:  w <- w'
//
// Symbols: c chunk size (SyncTuning::chunk, 512 KiB), w' the second copy of the state.
// Cost: that of the direct all-reduce, in N/c operations, of which two are under way; a second copy
//   of the state. The step takes max(forward + backward, exchange) at best, where wfbp takes
//   forward + max(backward, exchange): forward waits only for the rest of its own layer.
// Deviations: P3 has servers; here each worker serves a part of each chunk. For all-reduce
//   ByteScheduler has a master that decides the order of chunks; here each worker decides alone,
//   and begins a chunk when it notices that another one has begun it (send_scheduler.h), so that no
//   decision can arrive after its chunks. Chunks of fewer elements than workers do not wait,
//   because not all workers would notice them. Sums are in the order of ranks, and every element is
//   updated once, so that the bits are those of every other order with `--exchange direct`. Between
//   workers of one host nothing waits for a link, and every chunk costs two of them a turn of their
//   loops: there buckets are sent as in everyone_reduction.h.
//   The next pass begins only after the step if
//     - the optimizer needs norms of the whole gradient (clipping, LARS, LAMB),
//     - the model has running statistics, which passes change in place and workers average,
//     - shares are cut by measured speeds, or a share takes several passes,
//     - something comes between the two steps: the end of an epoch, a checkpoint, a newcomer,
//     - the learner cannot wait for a layer (Learner::waits_at_gates).
// Failure: until all have reported, w is unchanged. When the view changes, the chunks under way are
//   dropped with the step, and so is the early pass.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "collective/group.h"
#include "learner/gate.h"
#include "learner/learner.h"
#include "replica/journal.h"
#include "replica/replica.h"
#include "runtime/channel.h"
#include "runtime/node.h"
#include "runtime/task_group.h"
#include "sync/reduction.h"
#include "sync/send_scheduler.h"
#include "sync/state_update.h"
#include "sync/sync_context.h"

namespace shoal {

class PriorityReduction final : public Reduction {
 public:
  PriorityReduction(Node& node, const Learner& learner, Replica& replica,
                    const SyncContext& context, StateUpdate& update)
      : node_(node), learner_(learner), replica_(replica), context_(context), update_(update) {}

  void begin_view(const View& view, Rank own) override;
  void begin_step() override;
  // Cuts all buckets into chunks as they become ready, and reduces these; then reduce() is not
  // called for the buckets.
  Task<void> reduce_as_ready(const Group& group, Channel<Ready>& ready, std::deque<Ready>& buckets,
                             TaskGroup& tasks, StepReport& report);
  Task<void> reduce(const Group&, const Ready&) override { co_return; }
  Task<void> finish(const Group& group) override;

  bool copies_state() const override { return goes_early_; }
  Range summed(const Group& group, const Ready& bucket) override;
  // Opens for the parameters after the step; null: the next pass begins when the step is over.
  const std::shared_ptr<ParameterGate>& gate() const { return gate_; }

 private:
  struct Chunk {
    Ready ready;  // numbered as chunks are
    std::uint32_t bucket = 0;
    SendScheduler::Ticket ticket;
    Time begun{};
  };
  Task<void> exchange(const Group& group, Chunk& chunk, StepReport& report);
  Task<void> all_reduce(const Group& group, Chunk& chunk, bool waits);
  Task<void> hear_term(const Group& group, Chunk& chunk, Rank from, Bytes size,
                       std::optional<Reading>& term);

  Node& node_;
  const Learner& learner_;
  Replica& replica_;
  const SyncContext& context_;
  StateUpdate& update_;
  // In this view.
  bool goes_early_ = false;  // the next pass begins before the step has ended
  // In this step.
  Elements chunk_n_;
  std::deque<Chunk> chunks_;
  std::optional<SendScheduler> turns_;
  std::shared_ptr<ParameterGate> gate_;
};

}  // namespace shoal
