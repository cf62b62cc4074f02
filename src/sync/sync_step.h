// One step of synchronous training, made by all members of a view together: from the state before
// it to the state after it. sync.h has the whole; this is its inner part, a private one.
//
//   deal     the global batch is cut into micro-shards, and each micro-shard has a worker
//   compute  every worker sums the gradients of its micro-shards into g, bucket by bucket, last
//   layer first reduce   the g of all are added up, for whoever updates them
//   tell     all know that all have come so far: from here on the step counts
//   apply    the updaters move their part of the state
//   spread   what was moved reaches all
//
// Until all have told, nothing of the state is changed; after that each can finish the step by
// itself, whatever happens to the others: either it has the whole sum, or it holds what that is
// made of where it lies, in memory that outlives the processes of the others. So short parameters
// are updated in place, and long ones and the optimizer's slots stay with the owners
// (held_parts.h). Where parts come from other hosts, or all of it from a root, there is no such
// thing: there a second copy of the state is made before all tell, and counts after.
//
// A recipe with logical shards sums the gradient of each in one fixed tree (fixed_tree.h); one that
// does not wait for all asks rank 0 whose gradients count (stragglers.h). Both exchange at the end.
//
// With Updater::Owners each applies 1/P of the update, and the sum of its part never leaves it. On
// one host it is not even written: all hold the gradients of all, and each owner adds them up as it
// applies them. (Not where norms of the sum come first, nor where its order is fixed.)
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collective/dissemination.h"
#include "collective/fixed_tree.h"
#include "collective/group.h"
#include "collective/links.h"
#include "data/ledger.h"
#include "encoded/encoder.h"
#include "encoded/low_rank.h"
#include "learner/learner.h"
#include "optim/update.h"
#include "replica/journal.h"
#include "replica/per_worker_state.h"
#include "replica/replica.h"
#include "replica/shard_sums.h"
#include "runtime/channel.h"
#include "runtime/task_group.h"
#include "sync/bucket_tuner.h"
#include "sync/in_pass_all_reduce.h"
#include "sync/send_scheduler.h"
#include "sync/sharded_state.h"
#include "sync/stragglers.h"
#include "sync/sync.h"

namespace shoal {

// A part of the global batch, computed in one go.
struct MicroShard {
  std::uint32_t number = 0;         // draws of its forward pass differ by it
  Rank worker, deputy;              // both compute it; mostly one and the same
  Rank winner;                      // of the two, the one whose gradient counts; or kDropped
  std::span<const Share> shares{};  // of those of the step
  std::uint64_t counted = 0;        // samples of it that count

  std::uint64_t samples() const;
  bool is_of(Rank r) const { return worker == r || deputy == r; }
};

// What each member tells all others in every step.
struct StepNote {
  std::uint64_t samples = 0;     // of its last gradient,
  std::uint64_t compute_ns = 0;  // and how long that took,
  std::uint64_t step_ns = 0;     // and the whole step
};

// Poseidon's rule: whether factors of a layer of M x N among P workers of B samples each are not
// more to send than its gradient through S servers.
bool poseidon_broadcasts(std::uint64_t B, std::uint64_t P, std::uint64_t S, std::uint64_t M,
                         std::uint64_t N);

// n things in proportion to the weights, which are not all zero; the first get what is left over.
std::vector<std::uint64_t> split(std::uint64_t n, const std::vector<double>& weights);

class SyncStep {
 public:
  SyncStep(Node& node, Learner& learner, Replica& replica, const SyncOptions& options);

  // The members of the view have agreed on where they stand; guests, by rank, are still to get the
  // state, and have no samples in the first step.
  void begin_view(const View& view, std::vector<bool> guests);
  // Where the recipe leaves the exchange open: measures what it costs here, and says what was
  // chosen.
  Task<std::string> choose_exchange(const Group& group, bool anew = false);
  // The state came, or was replaced.
  void state_arrived();

  void deal(const View& view);
  const std::vector<MicroShard>& micro_shards() const { return micro_shards_; }
  // What others read here is lent by tasks of this group, in the view that begins.
  // A pass that is begun early is one of them.
  void lend_by(TaskGroup& lending) {
    early_.reset();
    taken_.reset();
    lending_ = &lending;
    gradients_lent_ = {};
    state_lent_ = 0;
    parts_.lent_anew();
  }
  // Until the step can be finished. May be given up at any time.
  Task<void> run(const Group& group);
  // Tells the others that it can be, and what else they should know of this member. Done when all
  // have: the step counts.
  Task<void> tell(const Group& group);
  // Until the state is that after the step. Ends, whatever happens to the others.
  Task<void> finish(const Group& group);
  // Before these tasks are cancelled: whatever was begun early ends.
  void refuse_early_pass();
  // Of what is read at others, after finish() or instead of it.
  void let_go();
  // Instead of finish(): the state is that before the step.
  void give_up();
  Task<void> prefetch(const Group& group);
  // Whether steps take so much longer or shorter that the choice should be made again: the same on
  // all members.
  bool links_changed() const;
  // What of the state may lie with the owners of parts.
  ShardedState& held_parts() { return parts_; }
  // What no other worker has: what an encoding has not sent yet.
  std::vector<PerWorkerArray> own();
  // That of workers which are not in the view.
  void inherit(std::span<const KeptArray> kept, const View& view);
  // Settles the samples. REQUIRES: finish() has ended.
  StepReport commit();

 private:
  // sync_compute.cc: from the ledger to gradients.
  std::uint64_t batch_of(const View& view, std::uint64_t epoch) const;
  std::vector<double> weights() const;
  std::vector<MicroShard> empty_micro_shards() const;
  std::vector<SampleId> samples_of(const MicroShard& micro_shard) const;
  Portion portion_of(const MicroShard& micro_shard, std::size_t pass, std::size_t passes) const;
  Task<void> compute(Channel<Ready>& ready, const Group& group);
  Task<void> compute_shards(const Group& group);
  Task<void> compute_shard(std::uint32_t shard, GradientTarget target);
  // sync_stragglers.cc
  Task<void> compute_until_decided(const Group& group);
  Task<void> compute_pieces(const Group& group);
  Task<void> decide(const Group& group);
  Task<void> hear_decision(const Group& group);
  Task<void> until_decided();
  Task<void> count_samples(const Group& group);
  void cut_whole_range();
  void keep_rest();
  void keep_rest_after(std::size_t micro_shard);
  void take_rest();
  void put_rest_back();
  Task<void> average_rest(const Group& group);

  // sync_encoded.cc
  bool chooses_encoding() const;
  Task<std::string> choose_encodings(const Group& group, bool anew);
  void watch_links(Duration longest);
  void make_encoder();
  void begin_encoding(const Group& group);
  void commit_encoding();
  bool encodes_now() const { return (encoder_ || low_rank_) && !plain_; }
  Encoder* sink(const Group& group, std::size_t passes);
  Task<void> reduce_encoded(const Group& group, Range g, std::uint64_t number);
  // sync_factors.cc
  bool by_factors(const Group& group, const Ready& bucket) const;
  Task<Range> packed_factors(const Group& group, const Ready& bucket);
  Task<void> reduce_factors(const Group& group, const Ready& bucket, std::uint64_t number);
  Task<void> add_formed(ConstBuf message, Range g, NodeId from);
  // sync_step.cc: from gradients to the next state.
  Task<void> exchange(const Group& group, Ready bucket);
  Task<void> exchange_as_ready(const Group& group, Channel<Ready>& ready, TaskGroup& tasks);
  Exchange exchange_of(const Group& group, Bytes size) const;
  Task<void> reduce(const Group& group, const Ready& bucket);
  Task<void> reduce_shards(const Group& group, const Ready& bucket, std::uint64_t number);
  Task<void> spread(const Group& group, const Ready& bucket);
  // sync_priority.cc
  struct Chunk {
    Ready ready;  // numbered as chunks are
    std::uint32_t bucket = 0;
    SendScheduler::Ticket ticket;
    Time begun{};
  };
  // The pass of the next step, while this one is exchanged.
  struct EarlyPass {
    Portion portion;
    std::shared_ptr<ParameterGate> gate;
    Range w, g;
    Channel<Ready> ready;
    Score score;
    Time begun{}, ended_at{};
    bool ended = false;
    std::exception_ptr error;
    Signal over;
  };
  void begin_chunks(const Group& group);
  Task<void> exchange_chunks(const Group& group, Channel<Ready>& ready, TaskGroup& tasks);
  Task<void> exchange_chunk(const Group& group, Chunk& chunk);
  Task<void> reduce_chunk(const Group& group, Chunk& chunk, bool waits);
  Task<void> hear_term(const Group& group, Chunk& chunk, Rank from, Bytes size,
                       std::optional<Reading>& term);
  std::optional<Portion> next_portion(const Group& group) const;
  void begin_early_pass(const Group& group);
  Task<void> run_early_pass(EarlyPass& pass);
  static Task<void> end_of(EarlyPass& pass);
  Task<void> take_early_pass(const Group& group);
  Task<void> follow_early_pass(const Group& group);
  Task<void> compute_now(Channel<Ready>& ready, const Group& group);
  // sync_finish.cc
  Task<void> hold_gradients(const Group& group);
  std::vector<const float*> terms_of(const Group& group, Range of_g);
  Task<void> finish_parts(const Group& group);
  Task<void> share_parts(const Group& group);
  Task<void> hear_parts(const Group& group);
  Task<void> hear_part(const Group& group, Rank owner);
  Task<void> take_part(const Group& group, Rank owner);
  // `kept`: until the next step, by whoever reads it.
  void lend(const Group& group, std::uint64_t& lent, Range range, std::uint64_t operation,
            bool kept = false);
  Task<void> lend_to(const Group& group, NodeId to, Tag tag, Range range, std::uint64_t& lent,
                     bool kept);
  Task<void> returned(const std::uint64_t& lent);
  Task<void> all_returned();
  Range part(const Group& group, Rank owner) {
    SHOAL_CHECK_EQ(cuts_.size(), group.size());
    return cut_of(replica_.g().all(), cuts_[owner.value()]);
  }
  Range array_part(const Range& of_g, unsigned array, bool next);
  Cuts cuts_of(const Group& group, const Ready& bucket);
  std::uint64_t parts_operation(unsigned array) const;
  unsigned arrays_copied() const {
    if (parts_.parameters_held()) return 0;
    return 1 + (parts_.held() ? 0 : slots(options_.rule));
  }
  Task<void> apply(Range own, std::span<const float* const> terms = {}, bool held = false);
  Task<void> apply_part(const Group& group, Rank owner);
  Task<Sums> norms(const Group& group);
  UpdateTarget shard_of(Range own);
  UpdateStep update_step() const;
  Range own_part(const Group& group, const Ready& bucket);
  std::uint64_t operation(const Ready& bucket, BucketOperation what, std::uint64_t i = 0) const;

  Node& node_;
  Learner& learner_;
  Replica& replica_;
  const SyncOptions& options_;
  const std::vector<Segment> segments_;
  ShardedState parts_;
  Updater updater_;  // the recipe's, or what the encodings that were chosen ask for
  // Of the view.
  Cuts cuts_;  // whose part is what
  std::vector<bool> guests_;
  std::vector<double> speeds_;  // samples a second, by rank; 0: not known yet
  Signal state_here_;
  std::optional<LinkRoom> links_;
  CostModel costs_;
  BucketTuner tuner_;
  // Of the step.
  std::vector<MicroShard> micro_shards_;
  std::vector<Share> shares_;    // of all micro-shards, one after the other
  std::uint64_t batch_ = 0;      // samples that count
  std::vector<Rank> terms_;      // whose gradients are added, in this order
  std::deque<Ready> buckets_;    // of the gradient
  std::vector<HeldSum> held_;    // of all shards,
  std::vector<Range> own_sums_;  // and those that are held here
  ShardSums shard_sums_;
  std::uint64_t done_ = 0;  // samples of the own micro-shard whose gradient is in g
  std::uint64_t own_done_ = 0, heard_done_ = 0;
  std::vector<std::uint64_t> decision_, told_;
  bool decided_ = false;
  Signal decided_here_;
  StepReport report_;
  Time begun_{};
  StepNote own_note_;  // of the last step
  TaskGroup* lending_ = nullptr;
  // Ranges that others read, or will: of the gradients, by turns where they are exchanged from step
  // to step, and of the state.
  std::array<std::uint64_t, 2> gradients_lent_{};
  std::uint64_t state_lent_ = 0;
  std::size_t turn_ = 0;
  Signal returned_;
  bool in_place_ = true;     // in this view
  Sums total_;               // of the rule's measurements
  bool added_late_ = false;  // owners add up the gradients as they apply them
  // Read at the others, by rank: gradients, or their sum for the part; and the part's arrays.
  std::vector<std::optional<Reading>> gradients_there_;
  std::vector<std::vector<std::optional<Reading>>> parts_there_;
  std::vector<bool> parts_taken_;
  // Where what is needed first goes first.
  bool in_chunks_ = false;   // in this view: its members are on several hosts
  bool goes_early_ = false;  // in this view: the next pass begins before the step has ended
  Elements chunk_n_;
  std::deque<Chunk> chunks_;
  std::optional<SendScheduler> turns_;
  std::shared_ptr<ParameterGate> gate_;       // of the state after the step
  std::unique_ptr<EarlyPass> early_;          // of the next step,
  std::unique_ptr<EarlyPass> taken_;          // and of this one, if it was begun in the last
  std::optional<Encoder> encoder_;            // where the recipe has one,
  std::optional<LowRankSums> low_rank_;       // or the other
  std::deque<std::optional<Arena>> factors_;  // that are sent, by bucket
  EncodedForm form_ = EncodedForm::Gather;
  bool plain_ = false;  // not yet, in this step
  Generation encoded_in_;
  Step chosen_in_;      // the step before which encodings were chosen,
  double usual_s_ = 0;  // and what a step took then
  std::uint64_t odd_steps_ = 0;
  Gathering speeds_gathering_;
  Gathering notes_, sums_, rests_, counts_, statistics_;
  std::optional<InPassAllReduce> in_pass_;  // of the step, where the recipe has one
  // The rest of the model's state (running statistics) is changed in place by forward passes: as it
  // was before the step, and as each own micro-shard left it.
  std::vector<float> rest_before_;
  bool rest_kept_ = false;
  std::vector<float> rest_after_;
  std::vector<float> rest_next_;  // the mean of all
};

}  // namespace shoal
