// A round: what the members of one view train of one epoch. While it lasts nobody comes or goes, so
// that a system is written for P workers; when a view ends, or the samples do, the round is over.
//
//   all members agree on the ledger (worker.cc), and begin
//     each:  while (next share) { gradient; update; meet others as the system does }
//   all tell which shares they have done: these have ended, and the rest is dealt in the next round
//
// Samples: in step, every member takes its part of each global batch, known to all; else rank 0
// deals, and whoever is faster gets more. A worker asks a share ahead, and further ahead once it
// had to wait for an answer: behind a model that goes the same way a question takes long.
// Failure: what waits for others ends by RoundAborted when there is a newer view, or by PeerLost.
// What a worker does alone is never cut off: its model is whole whatever happens. What a lost
// worker had done is lost with its model, as far as that has not met others, and its shares are
// dealt again.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "collective/group.h"
#include "data/ledger.h"
#include "learner/learner.h"
#include "optim/rule.h"
#include "optim/update.h"
#include "recipe/recipe.h"
#include "replica/journal.h"
#include "replica/replica.h"
#include "runtime/node.h"
#include "runtime/task.h"
#include "runtime/task_group.h"
#include "runtime/view_watch.h"

namespace shoal {

// Of the whole job.
struct DecentralTerms {
  std::uint64_t batch = 32;   // B, of a worker
  std::uint64_t workers = 1;  // that are expected
  Peering peering{};
  Exchange exchange = Exchange::Direct;  // of sums over all
  Encode encode{};
  Rule rule{};
  std::function<double(Step)> eta;
  std::vector<Segment> segments;
  bool audit = false;  // the checkers are told of meetings (audit.h)
};

// Kinds of messages between two members.
enum PeerMessage : std::uint64_t { kAsk, kOffer, kModel, kAnswer, kCount };

// Thrown where a member waits for others that are not in the view any more.
struct RoundAborted {};

// The members of a view and what they do together.
class ViewContext {
 public:
  ViewContext(Node& n, const Group& g, ViewWatch& w) : node(n), group(g), watch(w) {}

  Node& node;
  const Group& group;
  ViewWatch& watch;

  std::uint64_t size() const { return group.size(); }
  bool alone() const { return group.size() == 1; }
  // Whatever waits for others: throws RoundAborted when there is a newer view, in which nothing of
  // this one is sent or received any more. What a member does alone is not to be in it.
  Task<void> with_others(Task<void> exchange);
  // The same for single messages.
  Task<void> send(NodeId to, Tag tag, ConstBuf payload);
  Task<void> publish(NodeId to, Tag tag, ConstBuf range);
  Task<Received> recv(Match match, MutBuf room);  // of that very size
  Task<Reading> read(Match match, Bytes size);
  Task<Reading> read(Match match);  // of any size
  // Of a task that nobody waits for: whoever is lost is suspected, and so the view will end.
  Task<void> beside(Task<void> task);
  // Numbers of collective operations, in turn. REQUIRES: all members ask alike, in one order.
  std::uint64_t operations(std::uint64_t n = 1);
  // Of an operation that not all members take part in, one a step.
  static std::uint64_t operation_of_step(Step t);
  // Of messages between two members in the present round, apart from collective operations.
  Tag tag(std::uint64_t kind, std::uint64_t number = 0) const;
  void next_round() { ++round_; }
  // Of this view, for the flight recorder.
  Event event(EventKind kind, NodeId peer = kNobody) const;

 private:
  std::uint64_t next_ = 0;
  std::uint64_t round_ = 0;
};

class TrainingRound {
 public:
  // At most `samples` are dealt. All outlive it, and what is here lives until its generation is
  // retired.
  TrainingRound(ViewContext& context, Learner& learner, Replica& replica,
                const DecentralTerms& terms, std::uint64_t samples, Journal* journal);

  ViewContext& context;
  Replica& replica;
  const DecentralTerms& terms;
  Env& env() { return context.node.env; }
  // What meets others: parameters, and what of the rest of the state has a mean.
  Range model() { return replica.w().slice(Elements(0), learner_.layout().averaged()); }
  Substance substance() const { return learner_.substance(); }

  // A system asks for a share, and then computes; in step it may be an empty one.
  Task<bool> next();  // false: no samples are left
  Task<void> gradient() { return gradient_at(replica.w()); }
  Task<void> gradient_at(Range state);
  Task<void> update() { return update(FusedPass()); }
  // `fused` is done to all of model(), in the same pass as far as there is one.
  Task<void> update(FusedPass fused);
  Task<void> done();
  // What update() does, to any state and slots of such a model: by the sum in the replica's
  // gradient, over so many.
  Task<void> apply(Range state, Range slots, double over, const FusedPass* fused = nullptr);
  // In place of gradient and update: each sample of the share is a step of its own, on threads that
  // share the model. Throws ConfigError for a learner that cannot.
  Task<void> steps_of_samples(std::uint32_t threads);
  // Of the step at hand; over no samples, where the share is empty.
  const Score& score() const { return report_.own; }
  // All three: a step of plain training.
  Task<void> step();
  // Of the step at hand, over the whole job; after done() of the next one.
  Step t() const { return replica.step + Step(made_); }

  // What goes on beside the steps, in `tasks`, until it is cancelled: rank 0 deals, where somebody
  // must.
  void serve_in(TaskGroup& tasks);
  // In the same group.
  void spawn(Task<void> task) { tasks_->spawn(context.beside(std::move(task))); }
  const std::vector<Share>& finished() const { return finished_; }

 private:
  // What a worker is dealt at its own pace.
  struct Offer {
    Share share;
    std::uint64_t dealt = 0;  // in this round, to all
    std::uint64_t left = 0;   // to be dealt in it
  };

  // Shares that a worker may have asked for at most, and the one it computes.
  static constexpr std::uint64_t kAheadMax = 16;
  using Offers = std::array<Offer, 2 * kAheadMax>;  // by turns: what was sent may not have left yet

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
  bool in_step() const { return terms.peering.in_step; }

  Learner& learner_;
  Journal* journal_;
  TaskGroup* tasks_ = nullptr;
  std::uint64_t samples_;    // that may still be dealt
  std::uint64_t dealt_ = 0;  // so far
  std::uint64_t told_ = 0;   // of these, in reports
  std::uint64_t made_ = 0;   // steps
  std::vector<Share> own_;   // of the step at hand
  std::vector<Share> finished_;
  std::deque<Offer> answers_;     // asked for while the share before was computed
  std::uint64_t ahead_ = 1;       // how many shares are asked for before they are needed,
  std::uint64_t unanswered_ = 0;  // and for how many there is no answer yet
  std::uint64_t asked_ = 0;
  Signal answered_;
  Offers incoming_;
  std::uint64_t question_ = 0;
  std::vector<Offers> offers_;          // on their way, by rank
  std::vector<std::uint64_t> offered_;  // how many, by rank
  StepReport report_;
  Time begun_;
};

}  // namespace shoal
