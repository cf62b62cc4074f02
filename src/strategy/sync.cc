#include "strategy/sync.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <exception>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/hash.h"
#include "collective/dissemination.h"
#include "collective/group.h"
#include "collective/ring.h"
#include "optim/update.h"
#include "runtime/task_group.h"
#include "strategy/recovery.h"

namespace shoal {
namespace {

constexpr GroupId kGroup{1};

// Numbers of the collective operations of one view: those of a step are step x 4096 + bucket.
constexpr std::uint64_t kBucketsMax = 4096;
constexpr std::uint64_t kRecovery = std::uint64_t{1} << 47U;
constexpr std::uint64_t kStandings = kRecovery;
constexpr std::uint64_t kTransfer = kRecovery + 1;
constexpr std::uint64_t kBarrier = kRecovery + 2;
constexpr std::uint64_t kEvaluation = std::uint64_t{1} << 46U;  // + step

// A state in words, as it travels ahead of the parameters: step, lineage, epoch, place in it, and
// the view in which the last step was reduced.
using StateWords = std::array<std::uint64_t, 5>;

// Vectors (biases, norms) are left to eta as it is by the rules that adapt it by tensor.
std::vector<Segment> segments_of(const Layout& layout) {
  std::vector<Segment> segments;
  for (const TensorEntry& t : layout.parameter_tensors())
    segments.push_back({t.at, t.n, true, t.shape.size() > 1});
  return segments;
}

class Worker {
 public:
  Worker(Node& node, Learner& learner, Keeper& keeper, Replica& replica, const SyncOptions& options,
         Journal* journal)
      : node_(node),
        learner_(learner),
        keeper_(keeper),
        replica_(replica),
        options_(options),
        journal_(journal),
        segments_(segments_of(learner.layout())) {}

  // Trains until the last step is done everywhere, through all views.
  Task<void> run();

 private:
  Task<void> through_views();
  // All members of the view take part, from its first exchange to the end. True: the job is done;
  // false: the view changed.
  Task<bool> in_view(ViewPtr view);
  Task<bool> before_next_view(Task<void> exchange);
  Task<void> level_up(const Group& group);
  Task<void> give(const Group& group, NodeId to, Need need);
  Task<void> take(const Group& group, NodeId from, Need need);
  Task<void> take_part(const Group& group, NodeId from, std::uint64_t part, MutBuf room);
  Task<void> reduce(const Group& group, Share own);
  Task<void> gradient(Portion portion, Range g, Channel<Ready>& ready);
  Task<void> prefetch(const Group& group);
  bool evaluation_due() const;
  Task<void> evaluate(const Group& group);
  double eta() const;
  Task<void> apply();
  Task<void> save();
  Task<void> barrier(const Group& group);

  std::vector<Share> deal(const View& view);
  // A place in an epoch, counted over all epochs.
  std::uint64_t position(std::uint64_t epoch, std::uint64_t at) const {
    return epoch * replica_.ledger.samples_per_epoch() + at;
  }
  std::uint64_t hash(Range range) const {
    return options_.audit ? hash_of(std::span<const float>(range.data())) : 0;
  }
  void note(EventKind kind, Generation generation, std::uint64_t a, std::uint64_t b,
            std::uint64_t c);

  Node& node_;
  Learner& learner_;
  Keeper& keeper_;
  Replica& replica_;
  const SyncOptions& options_;
  Journal* journal_;  // may be null
  const std::vector<Segment> segments_;
  StepReport report_;            // of the step at hand
  Step evaluated_;               // before this step the state was last evaluated
  Need behind_ = Need::Nothing;  // what was taken in level_up and has to be applied
  Generation last_;              // the view that this worker is or was in
  // Buffers of exchanges live here: a cancelled one may be busy until its generation is retired.
  std::vector<std::byte> blocks_, room_;
  StateWords state_{};
};

Task<void> Worker::run() {
  std::exception_ptr error;
  try {
    co_await through_views();
  } catch (const Cancelled&) {
    throw;
  } catch (...) {
    error = std::current_exception();
  }
  // Whatever the end: the replica may be given up only when the network has let go of its ranges.
  co_await node_.endpoint.retire(kGroup, last_);
  if (error) std::rethrow_exception(error);
  note(EventKind::WorkerDone, replica_.lineage, replica_.step.value(), hash(replica_.w.all()), 0);
}

Task<void> Worker::through_views() {
  while (true) {
    ViewPtr view = co_await node_.membership.after(last_);
    last_ = view->generation;
    // No range may be used again before the network has let go of it. Views may have been skipped:
    // what others sent here in those must be dropped too, or they would wait for us for ever.
    co_await node_.endpoint.retire(kGroup, last_.previous());
    if (node_.membership.now().generation > last_) continue;  // It has changed again meanwhile.
    replica_.ledger.revoke_all();
    std::optional<PeerLost> lost;
    try {
      const bool done = co_await in_view(view);
      if (done) co_return;
    } catch (const PeerLost& error) {
      lost = error;
    }
    if (!lost) continue;
    node_.env.probe("sync: a peer was lost inside a view");
    node_.membership.suspect(lost->peer(), lost->what());
  }
}

Task<bool> Worker::in_view(ViewPtr view) {
  const Group group(node_, kGroup, view);
  const Generation generation = view->generation;

  const bool level = co_await before_next_view(level_up(group));
  if (!level) co_return false;
  if (journal_ != nullptr) journal_->view_begun(*view);
  if (behind_ == Need::Reduced) {
    node_.env.probe("sync: a reduced step was copied from a peer");
    deal(*view);
    co_await apply();
  }
  note(EventKind::StateAgreed, generation, replica_.step.value(), hash(replica_.w.all()),
       replica_.lineage.value());

  while (true) {
    if (evaluation_due()) {
      const bool evaluated = co_await before_next_view(evaluate(group));
      if (!evaluated) co_return false;
    }
    if (replica_.step >= options_.steps) break;
    if (journal_ != nullptr && journal_->leave()) break;
    const std::vector<Share> shares = deal(*view);
    const Share own = shares[group.rank.value()];
    note(EventKind::ShareAdded, generation, replica_.step.value(), position(own.epoch, own.at),
         own.n);
    const bool reduced = co_await before_next_view(reduce(group, own));
    if (!reduced) {
      node_.env.probe("sync: a step was dropped for a new view");
      co_return false;
    }
    replica_.reduced_in[replica_.step.value() % 2] = generation;
    if (node_.env.buggify("sync: late to apply"))
      co_await node_.env.sleep(std::chrono::milliseconds(3));
    co_await apply();

    const bool due =
        options_.save_every > Step(0) && replica_.step.value() % options_.save_every.value() == 0;
    if (group.rank == Rank(0) && (due || node_.env.buggify("sync: saved early"))) co_await save();
  }
  // The result is safe before the first worker leaves: whoever comes later finds it.
  if (group.rank == Rank(0)) co_await save();
  co_return co_await before_next_view(barrier(group));
}

// What waits for others ends when there is a newer view; a view that is there already wins.
Task<bool> Worker::before_next_view(Task<void> exchange) {
  auto first = co_await race(node_.membership.after(last_), std::move(exchange));
  co_return first.index() == 1;
}

Task<void> Worker::save() {
  const std::uint64_t step = replica_.step.value();
  const std::uint64_t w = hash(replica_.w.all());
  note(EventKind::CheckpointBegun, last_, step, w, 0);
  co_await keeper_.save(replica_);
  if (journal_ != nullptr) journal_->saved(replica_.step);
  note(EventKind::CheckpointDone, last_, step, w, 0);
}

// The whole global batch of the next step, dealt to the members in rank order.
std::vector<Share> Worker::deal(const View& view) {
  std::vector<Share> shares;
  std::uint64_t left = std::min(options_.batch, replica_.ledger.left());
  for (std::uint64_t r = 0; r < view.size(); ++r) {
    const Member& member = view.members[r];
    const std::uint64_t want = left / (view.size() - r);
    shares.push_back(replica_.ledger.deal(member.node, member.incarnation, want));
    left -= want;
  }
  return shares;
}

Task<void> Worker::reduce(const Group& group, Share own) {
  const Range g = replica_.gradient_of(replica_.step);
  const std::uint64_t operation = replica_.step.value() * kBucketsMax;
  Portion portion{own.epoch, replica_.step, group.rank.value(), replica_.ledger.samples(own)};
  Channel<Ready> ready;
  report_ = StepReport();
  report_.step = replica_.step;
  report_.epoch = own.epoch;
  const Time begin = node_.env.now();
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    tasks.spawn(gradient(std::move(portion), g, ready));
    tasks.spawn(prefetch(group));
    while (auto bucket = co_await ready.next()) {
      SHOAL_CHECK_LT(bucket->bucket, kBucketsMax);
      const Range data = g.slice(bucket->at, bucket->n);
      const Range scratch =
          replica_.scratch.all().slice(bucket->at, ring_scratch(bucket->n, group.size()));
      tasks.spawn(ring_all_reduce(group, data, scratch, operation + bucket->bucket));
    }
  });
  report_.wait = node_.env.now() - begin - report_.compute;
}

Task<void> Worker::gradient(Portion portion, Range g, Channel<Ready>& ready) {
  const Time begin = node_.env.now();
  const GradientTarget target{g, nullptr};
  co_await learner_.gradient(node_.env, replica_.w.all(), target, std::move(portion), ready,
                             report_.own);
  report_.compute = node_.env.now() - begin;
}

// What this worker will probably be dealt next: its part of the next global batch.
Task<void> Worker::prefetch(const Group& group) {
  const std::vector<Share> next = replica_.ledger.peek(options_.batch, 1);
  if (next.empty() || replica_.step + Step(1) >= options_.steps) co_return;
  const std::uint64_t r = group.rank.value();
  const std::uint64_t P = group.size();
  const std::uint64_t n = next[0].n;
  // Ranks get left / (P - r) in turn: the last ones are the longer.
  const std::uint64_t shorter = P - n % P;
  Share own = next[0];
  own.at += r * (n / P) + (r > shorter ? r - shorter : 0);
  own.n = n / P + (r >= shorter ? 1 : 0);
  Portion portion{own.epoch, replica_.step + Step(1), group.rank.value(),
                  replica_.ledger.samples(own)};
  co_await learner_.prefetch(node_.env, std::move(portion));
}

bool Worker::evaluation_due() const {
  if (!options_.evaluate || replica_.step == Step(0) || evaluated_ >= replica_.step) return false;
  const LedgerPlace place = replica_.ledger.place();
  return replica_.step == options_.steps || place.at % replica_.ledger.samples_per_epoch() == 0;
}

// Each worker takes its part of the samples held out; the scores are added in rank order.
Task<void> Worker::evaluate(const Group& group) {
  const std::uint64_t P = group.size();
  const std::uint64_t n = learner_.held_out();
  const std::uint64_t r = group.rank.value();
  const Time begin = node_.env.now();
  const Score own =
      co_await learner_.evaluate(node_.env, replica_.w.all(), r * n / P, (r + 1) * n / P);
  blocks_.assign(P * sizeof(Score), std::byte{0});
  room_.assign(P * sizeof(Score), std::byte{0});
  std::memcpy(blocks_.data() + r * sizeof(Score), &own, sizeof own);
  co_await all_gather(group, blocks_, room_, kEvaluation + replica_.step.value());
  std::vector<Score> scores(P);
  std::memcpy(scores.data(), blocks_.data(), blocks_.size());
  EvaluationReport report;
  report.step = replica_.step;
  const LedgerPlace place = replica_.ledger.place();
  report.epoch = position(place.epoch, place.at) / replica_.ledger.samples_per_epoch();
  for (const Score& score : scores) report.total += score;
  report.took = node_.env.now() - begin;
  evaluated_ = replica_.step;
  if (journal_ != nullptr) co_await journal_->evaluated(report);
}

double Worker::eta() const {
  const std::uint64_t samples = replica_.ledger.samples_per_epoch();
  const Step per_epoch((samples + options_.batch - 1) / options_.batch);
  return shoal::eta(options_.schedule, options_.eta, replica_.step, per_epoch, options_.steps, 1);
}

// REQUIRES: the gradient of the step is reduced, and its samples are dealt.
Task<void> Worker::apply() {
  const Step t = replica_.step;
  const Range g = replica_.gradient_of(t);
  const Generation generation = replica_.reduced_in[t.value() % 2];
  const std::uint64_t batch = replica_.ledger.settle_leases(SampleEnd::Applied);
  note(EventKind::StepReduced, generation, t.value(), hash(g), 0);
  const UpdateStep step{eta(), t.value() + 1, static_cast<double>(batch)};
  const Shard all{replica_.parameters(), g, replica_.slots.all(), Elements(0), segments_};
  const Time begin = node_.env.now();
  co_await update(node_.env, options_.rule, step, all);
  report_.update = node_.env.now() - begin;
  report_.samples = batch;
  report_.eta = step.eta;
  ++replica_.step;
  if (journal_ != nullptr) co_await journal_->step_done(report_);
  const LedgerPlace place = replica_.ledger.place();
  note(EventKind::StepApplied, generation, t.value(), hash(replica_.w.all()),
       position(place.epoch, place.at));
}

Task<void> Worker::level_up(const Group& group) {
  const std::uint64_t P = group.size();
  const Standing own{replica_.step.value(), replica_.lineage.value(), replica_.valid ? 1U : 0U,
                     evaluated_.value()};
  blocks_.assign(P * sizeof(Standing), std::byte{0});
  room_.assign(P * sizeof(Standing), std::byte{0});
  std::memcpy(blocks_.data() + group.rank.value() * sizeof(Standing), &own, sizeof own);
  co_await all_gather(group, blocks_, room_, kStandings);
  std::vector<Standing> standings(P);
  std::memcpy(standings.data(), blocks_.data(), blocks_.size());

  const RecoveryPlan plan = plan_recovery(standings);
  behind_ = need_of(standings, plan, group.rank);
  evaluated_ = evaluated_by_all(standings);
  if (group.rank != plan.source) {
    if (behind_ != Need::Nothing) co_await take(group, group.view->at(plan.source), behind_);
    co_return;
  }
  if (plan.from_keeper) {
    const bool loaded = co_await keeper_.load(replica_);
    if (!loaded) {
      learner_.initialize(replica_.w.all());
      replica_.restore(Progress{});
    } else {
      node_.env.probe("sync: the state was loaded from a checkpoint");
    }
    replica_.lineage = group.view->generation;
    note(EventKind::CheckpointRead, group.view->generation, replica_.step.value(),
         hash(replica_.w.all()), loaded ? 1 : 0);
  }
  // Whoever is at a step also holds the reduced gradient of the one before: others may need it.
  const Progress now = replica_.progress();
  const Generation reduced_in = replica_.reduced_in[(now.step.value() + 1) % 2];
  state_ = {now.step.value(), now.lineage.value(), now.ledger.epoch, now.ledger.at,
            reduced_in.value()};
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    for (std::uint32_t r = 0; r < P; ++r) {
      const Need need = need_of(standings, plan, Rank(r));
      if (need != Need::Nothing) tasks.spawn(give(group, group.view->at(Rank(r)), need));
    }
    co_return;
  });
}

Task<void> Worker::give(const Group& group, NodeId to, Need need) {
  Endpoint& endpoint = node_.endpoint;
  const Range reduced =
      replica_.gradient_of(replica_.step + Step(1));  // shares its buffer with t-1
  co_await endpoint.send(to, group.tag(kTransfer, 0), const_buf(state_));
  co_await endpoint.send(to, group.tag(kTransfer, 1), reduced.bytes());
  if (need == Need::Everything)
    co_await endpoint.send(to, group.tag(kTransfer, 2), replica_.w.all().bytes());
  if (need == Need::Everything && replica_.slots.size() > Elements(0))
    co_await endpoint.send(to, group.tag(kTransfer, 3), replica_.slots.all().bytes());
}

Task<void> Worker::take(const Group& group, NodeId from, Need need) {
  if (need == Need::Everything) replica_.valid = false;  // until all of it is here
  co_await take_part(group, from, 0, mut_buf(state_));
  const Step step(state_[0]);
  co_await take_part(group, from, 1, replica_.gradient_of(step + Step(1)).bytes());
  replica_.reduced_in[(step.value() + 1) % 2] = Generation(static_cast<std::uint32_t>(state_[4]));
  if (need == Need::Reduced) co_return;
  co_await take_part(group, from, 2, replica_.w.all().bytes());
  if (replica_.slots.size() > Elements(0))
    co_await take_part(group, from, 3, replica_.slots.all().bytes());
  replica_.restore(Progress{step, Generation(static_cast<std::uint32_t>(state_[1])),
                            LedgerPlace{state_[2], state_[3]}});
}

Task<void> Worker::take_part(const Group& group, NodeId from, std::uint64_t part, MutBuf room) {
  const Match match{.from = from, .tag = group.tag(kTransfer, part)};
  const Received received = co_await node_.endpoint.recv(match, room);
  require_size(received, room.size);
}

Task<void> Worker::barrier(const Group& group) {
  blocks_.assign(group.size(), std::byte{1});
  room_.assign(group.size(), std::byte{0});
  co_await all_gather(group, blocks_, room_, kBarrier);
}

void Worker::note(EventKind kind, Generation generation, std::uint64_t a, std::uint64_t b,
                  std::uint64_t c) {
  Event event;
  event.kind = kind;
  event.generation = generation;
  event.group = kGroup;
  event.a = a;
  event.b = b;
  event.c = c;
  node_.env.record(event);
}

}  // namespace

Task<void> sync_worker(Node& node, Learner& learner, Keeper& keeper, Replica& replica,
                       SyncOptions options, Journal* journal) {
  if (options.batch == 0) throw ConfigError("a global batch of 0 samples; take at least 1");
  require_valid(options.rule);
  SHOAL_CHECK_EQ(replica.slots.size(), learner.layout().parameters() * slots(options.rule));
  Worker worker(node, learner, keeper, replica, options, journal);
  co_await worker.run();
}

}  // namespace shoal
