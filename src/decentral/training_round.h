// A round: the members of one view train on samples of one epoch. The membership is fixed during a
// round, so that an algorithm is written for P workers; it ends when the view or the samples do.
//
//   all members agree on the ledger (worker.cc), and begin
//     each:  while (next share) { gradient; update; meet others as the algorithm does }
//   all tell which shares they have done: these have ended; the others are dealt in the next round
//
// Samples: in synchronous training, every member takes its part of each global batch, which all
// know. Otherwise rank 0 deals, and faster workers get more. A worker asks for a share ahead, and
// for more after it had to wait for an answer, because a question queues behind models sent in the
// same direction.
// Failure: a wait for others ends with RoundAborted when there is a newer view, or with PeerLost.
// Work that a worker does alone is never interrupted, so that its model is always consistent. A
// lost worker's updates are lost with its model unless they have reached other models, and its
// shares are dealt again.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "collective/group.h"
#include "data/ledger.h"
#include "decentral/options.h"
#include "learner/learner.h"
#include "optim/rule.h"
#include "optim/update.h"
#include "replica/journal.h"
#include "replica/replica.h"
#include "replica/training_task.h"
#include "runtime/node.h"
#include "runtime/task.h"
#include "runtime/task_group.h"
#include "runtime/view_watch.h"

namespace shoal {

// A job's task and recipe, and what follows from them.
struct DecentralTerms {
  const TrainingTask& task;
  const Decentral& recipe;
  EpochCount length{};
  std::function<double(Step)> eta{};
  std::vector<Segment> segments{};
};

// Kinds of messages between two members.
enum PeerMessage : std::uint64_t { kAsk, kOffer, kModel, kAnswer, kCount };

// Thrown when a member waits for members that are not in the view any more.
struct RoundAborted {};

// The members of a view, and their communication.
class ViewContext {
 public:
  ViewContext(Node& n, const Group& g, ViewWatch& w) : node(n), group(g), watch(w) {}

  Node& node;
  const Group& group;
  ViewWatch& watch;

  std::uint64_t size() const { return group.size(); }
  bool alone() const { return group.size() == 1; }
  // Runs work that waits for other members. Throws RoundAborted when there is a newer view;
  // messages of this view are then neither sent nor received any more. Must not include work that a
  // member does alone.
  Task<void> with_others(Task<void> exchange);
  // The same for single messages.
  Task<void> send(NodeId to, Tag tag, ConstBuf payload);
  Task<void> publish(NodeId to, Tag tag, ConstBuf range);
  Task<Received> recv(Match match, MutBuf room);  // of exactly room's size
  Task<Reading> read(Match match, Bytes size);
  Task<Reading> read(Match match);  // of any size
  // Runs a task that no other task awaits. It suspects a lost peer, so that the view will end.
  Task<void> beside(Task<void> task);
  // The next numbers for collective operations. REQUIRES: all members ask alike, in the same order.
  std::uint64_t operations(std::uint64_t n = 1);
  // The operation of this step in which only some members take part.
  static std::uint64_t operation_of_step(Step t);
  // Identifies messages between two members in the current round, apart from collective operations.
  Tag tag(std::uint64_t kind, std::uint64_t number = 0) const;
  void next_round() { ++round_; }
  // An event in this view, for the flight recorder.
  Event event(EventKind kind, NodeId peer = kNobody) const;

 private:
  std::uint64_t next_ = 0;
  std::uint64_t round_ = 0;
};

class TrainingRound {
 public:
  // Deals at most `samples`. The arguments outlive the round, which lives until its generation is
  // retired.
  TrainingRound(ViewContext& context, Learner& learner, Replica& replica,
                const DecentralTerms& terms, std::uint64_t samples, Journal* journal);

  ViewContext& context;
  Replica& replica;
  const DecentralTerms& terms;
  Env& env() { return context.node.env; }
  // The part of the state that meets others: parameters and averaged buffers.
  Range model() { return replica.w().slice(Elements(0), learner_.layout().averaged()); }
  Substance substance() const { return learner_.substance(); }

  // An algorithm asks for a share, then computes; in step, the share may be empty.
  Task<bool> next();  // false: no samples are left
  Task<void> gradient() { return gradient_at(replica.w()); }
  Task<void> gradient_at(Range state);
  Task<void> update() { return update(FusedPass()); }
  // Applies `fused` to all of model(), in the same pass where possible.
  Task<void> update(FusedPass fused);
  Task<void> done();
  // The work of update() for another state and slots of the same layout, with the sum in the
  // replica's gradient over `over` samples.
  Task<void> apply(Range state, Range slots, double over, const FusedPass* fused = nullptr);
  // Replaces gradient and update: each sample of the share is a separate step, on threads that
  // share the model. Throws ConfigError for a learner that does not support it.
  Task<void> steps_of_samples(std::uint32_t threads);
  // The score of the current step; over no samples if the share is empty.
  const Score& score() const { return report_.own; }
  // gradient(), update() and done(): a step of plain training.
  Task<void> step();
  // The current step of the whole job; after done() the next one.
  Step t() const { return replica.step + Step(made_); }

  // Starts background work in `tasks`, to be cancelled by the caller: rank 0 deals if the pace is
  // asynchronous.
  void serve_in(TaskGroup& tasks);
  // Adds a background task to the same group.
  void spawn(Task<void> task) { tasks_->spawn(context.beside(std::move(task))); }
  const std::vector<Share>& finished() const { return finished_; }

 private:
  // A share for an asynchronous worker.
  struct Offer {
    Share share;
    std::uint64_t dealt = 0;  // to all in this round so far
    std::uint64_t left = 0;   // not dealt yet in this round
  };

  // The most shares that a worker may have asked for, including the one it computes.
  static constexpr std::uint64_t kAheadMax = 16;
  using Offers = std::array<Offer, 2 * kAheadMax>;  // used in turn: an offer may still be under way

  void begin_report();
  std::vector<SampleId> samples_of(const Share& share);
  void deal_row();
  Task<void> prefetch_row();
  Task<void> prefetch(Share share);
  Task<bool> next_offer();
  Offer deal_to(Rank rank);
  Task<void> deal_to_all();
  Task<void> offer(Rank to);
  void ask_ahead(std::uint64_t left);
  Task<void> ask();
  Task<void> until_answered();
  bool in_step() const { return shoal::in_step(terms.recipe.algorithm); }

  Learner& learner_;
  Journal* journal_;
  TaskGroup* tasks_ = nullptr;
  std::uint64_t samples_;    // may be dealt in this round
  std::uint64_t dealt_ = 0;  // so far
  std::uint64_t told_ = 0;   // of these, reported
  std::uint64_t made_ = 0;   // steps made
  std::vector<Share> own_;   // of the current step
  std::vector<Share> finished_;
  std::deque<Offer> answers_;     // received ahead of time
  std::uint64_t ahead_ = 1;       // shares to ask for before they are needed
  std::uint64_t unanswered_ = 0;  // questions without an answer
  std::uint64_t asked_ = 0;
  Signal answered_;
  Offers incoming_;
  std::uint64_t question_ = 0;
  std::vector<Offers> offers_;          // under way, by rank
  std::vector<std::uint64_t> offered_;  // number so far, by rank
  StepReport report_;
  Time begun_;
};

}  // namespace shoal
