#include "decentral/training_round.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/error.h"
#include "runtime/slices.h"

namespace shoal {
namespace {

// Numbers of messages between two members lie above those of collective operations. They consist of
// the kind, the round and a number within the round.
constexpr std::uint64_t kSteps = std::uint64_t{1} << 40U;  // of operations with one number a step
constexpr std::uint64_t kKind = std::uint64_t{1} << 42U;
constexpr std::uint64_t kRound = std::uint64_t{1} << 24U;

std::uint64_t part_of(std::uint64_t n, std::uint64_t rank, std::uint64_t members) {
  return n / members + (rank < n % members ? 1 : 0);
}

}  // namespace

// ---- ViewContext

Task<void> ViewContext::with_others(Task<void> exchange) {
  const bool done = co_await watch.before_next_view(std::move(exchange));
  if (!done) throw RoundAborted();
}

namespace {

template <class Operation>
Task<void> finish(Operation operation) {
  co_await std::move(operation);
}

Task<void> take(Endpoint& endpoint, Match match, MutBuf room, Received& got) {
  got = co_await endpoint.recv(match, room);
}

Task<void> look(Endpoint& endpoint, Match match, std::optional<Reading>& got) {
  got.emplace(co_await endpoint.read(match));
}

}  // namespace

Task<void> ViewContext::send(NodeId to, Tag tag, ConstBuf payload) {
  return with_others(finish(node.endpoint.send(to, tag, payload)));
}

Task<void> ViewContext::publish(NodeId to, Tag tag, ConstBuf range) {
  return with_others(finish(node.endpoint.publish(to, tag, range)));
}

Task<Received> ViewContext::recv(Match match, MutBuf room) {
  Received got;
  co_await with_others(take(node.endpoint, match, room, got));
  require_size(got, room.size);
  co_return got;
}

Task<Reading> ViewContext::read(Match match) {
  std::optional<Reading> got;
  co_await with_others(look(node.endpoint, match, got));
  co_return std::move(*got);
}

Task<Reading> ViewContext::read(Match match, Bytes size) {
  Reading got = co_await read(match);
  require_size(got, size);
  co_return got;
}

Task<void> ViewContext::beside(Task<void> task) {
  std::optional<PeerLost> lost;
  try {
    co_await std::move(task);
  } catch (const PeerLost& error) {
    lost = error;
  } catch (const RoundAborted&) {
  }
  if (lost && !watch.overtaken()) node.membership.suspect(lost->peer(), lost->what());
}

std::uint64_t ViewContext::operations(std::uint64_t n) { return std::exchange(next_, next_ + n); }

std::uint64_t ViewContext::operation_of_step(Step t) { return kSteps + t.value() % kSteps; }

Tag ViewContext::tag(std::uint64_t kind, std::uint64_t number) const {
  return group.tag(kKind * (1 + kind) + kRound * round_ + number % kRound, 0);
}

Event ViewContext::event(EventKind kind, NodeId peer) const {
  Event event;
  event.kind = kind;
  event.generation = group.view->generation;
  event.group = group.id;
  event.peer = peer;
  return event;
}

// ---- TrainingRound

TrainingRound::TrainingRound(ViewContext& c, Learner& learner, Replica& r,
                             const DecentralTerms& job, std::uint64_t samples, Journal* journal)
    : context(c),
      replica(r),
      terms(job),
      learner_(learner),
      journal_(journal),
      samples_(samples),
      offers_(c.size()),
      offered_(c.size()),
      begun_(c.node.env.now()) {}

void TrainingRound::serve_in(TaskGroup& tasks) {
  tasks_ = &tasks;
  if (!in_step() && context.group.rank == Rank(0)) spawn(deal_to_all());
}

Task<bool> TrainingRound::next() {
  if (context.watch.overtaken()) throw RoundAborted();
  own_.clear();
  if (!in_step()) co_return co_await next_offer();
  if (std::min(samples_, replica.ledger.left()) == 0) co_return false;
  deal_row();
  spawn(prefetch_row());
  co_return true;
}

// Deals each member its part of the next global batch; every member's ledger deals alike.
void TrainingRound::deal_row() {
  const std::uint64_t P = context.size();
  const std::uint64_t n = std::min({samples_, replica.ledger.left(), P * terms.task.batch});
  for (std::uint64_t r = 0; r < P; ++r) {
    const Member& member = context.group.view->members[r];
    for (std::uint64_t left = part_of(n, r, P); left > 0;) {
      const Share share = replica.ledger.deal(member.node, member.incarnation, left);
      left -= share.n;
      if (Rank(static_cast<std::uint32_t>(r)) == context.group.rank) own_.push_back(share);
    }
  }
  samples_ -= n;
  dealt_ += n;
}

Task<void> TrainingRound::prefetch_row() {
  const std::uint64_t P = context.size();
  const std::uint64_t rank = context.group.rank.value();
  const std::vector<Share> row = replica.ledger.peek(P * terms.task.batch, 1);
  if (row.empty() || samples_ == 0) co_return;
  Share own{row[0].epoch, row[0].at, part_of(row[0].n, rank, P)};
  for (std::uint64_t r = 0; r < rank; ++r) own.at += part_of(row[0].n, r, P);
  Portion portion{own.epoch, t() + Step(1), context.group.rank.value(), samples_of(own)};
  co_await learner_.prefetch(env(), std::move(portion));
}

// ---- Asynchronous

TrainingRound::Offer TrainingRound::deal_to(Rank rank) {
  const Member& member = context.group.view->members[rank.value()];
  const std::uint64_t n = std::min({samples_, replica.ledger.left(), terms.task.batch});
  Share share;
  if (n > 0) share = replica.ledger.deal(member.node, member.incarnation, n);
  samples_ -= share.n;
  dealt_ += share.n;
  return {share, dealt_, std::min(samples_, replica.ledger.left())};
}

Task<void> TrainingRound::deal_to_all() {
  const Match match{.tag = context.tag(kAsk)};
  while (true) {
    const Received asked = co_await context.recv(match, mut_buf(question_));
    const std::optional<Rank> rank = context.group.view->rank_of(asked.from);
    if (rank) spawn(offer(*rank));
  }
}

Task<void> TrainingRound::offer(Rank to) {
  const std::uint64_t number = offered_[to.value()]++;
  Offer& slot = offers_[to.value()][number % offers_[to.value()].size()];
  slot = deal_to(to);
  co_await context.send(context.group.view->at(to), context.tag(kOffer), const_buf(slot));
}

// Asks fewer shares ahead when few are left, so that all end at about the same time.
void TrainingRound::ask_ahead(std::uint64_t left) {
  const std::uint64_t rounds = left / (context.size() * terms.task.batch);
  while (answers_.size() + unanswered_ < std::min(ahead_, rounds + 1)) {
    ++unanswered_;
    spawn(ask());
  }
}

Task<void> TrainingRound::ask() {
  const NodeId scheduler = context.group.view->at(Rank(0));
  Offer& answer = incoming_[asked_++ % incoming_.size()];
  if (context.group.rank == Rank(0)) {
    answer = deal_to(Rank(0));
  } else {
    co_await context.send(scheduler, context.tag(kAsk), const_buf(question_));
    const Match match{.from = scheduler, .tag = context.tag(kOffer)};
    co_await context.recv(match, mut_buf(answer));
  }
  --unanswered_;
  const Share share = answer.share;
  const bool next = answers_.empty();
  answers_.push_back(answer);
  answered_.notify_all();
  if (next) co_await prefetch(share);
}

Task<void> TrainingRound::prefetch(Share share) {
  if (share.n == 0) co_return;
  Portion portion{share.epoch, t() + Step(1), context.group.rank.value(), samples_of(share)};
  co_await learner_.prefetch(env(), std::move(portion));
}

Task<void> TrainingRound::until_answered() {
  while (answers_.empty()) co_await answered_.wait();
}

Task<bool> TrainingRound::next_offer() {
  if (asked_ == 0) {
    ask_ahead(samples_);
  } else if (answers_.empty()) {
    ahead_ = std::min(2 * ahead_, kAheadMax);
  }
  co_await context.with_others(until_answered());
  const Offer now = answers_.front();
  answers_.pop_front();
  if (context.group.rank != Rank(0)) dealt_ = now.dealt;
  if (now.share.n == 0) co_return false;
  own_.push_back(now.share);
  if (!answers_.empty()) spawn(prefetch(answers_.front().share));
  ask_ahead(now.left);
  co_return true;
}

// ---- One step

void TrainingRound::begin_report() {
  report_ = StepReport();
  report_.step = t();
  report_.epoch = own_.empty() ? replica.ledger.epoch() : own_[0].epoch;
  report_.eta = terms.eta(t());
  report_.rank = context.group.rank;
  report_.wait = env().now() - begun_;
}

// With replacement, the share gives only the number of samples; this worker draws them.
std::vector<SampleId> TrainingRound::samples_of(const Share& share) {
  std::vector<SampleId> samples = replica.ledger.samples(share);
  if (!draws_samples(terms.recipe.algorithm)) return samples;
  const std::uint64_t all = replica.ledger.samples_per_epoch();
  for (std::size_t i = 0; i < samples.size(); ++i)
    samples[i] = env().random(Purpose::Bagging, share.epoch * all + share.at + i).below(all);
  return samples;
}

Task<void> TrainingRound::steps_of_samples(std::uint32_t threads) {
  begin_report();
  if (own_.empty()) co_return;
  const Time begin = env().now();
  std::vector<Portion> portions(threads,
                                Portion{own_[0].epoch, t(), context.group.rank.value(), {}});
  std::size_t next = 0;
  for (const Share& share : own_)
    for (const SampleId id : replica.ledger.samples(share))
      portions[next++ % threads].samples.push_back(id);
  std::vector<Score> scores(threads);
  std::vector<std::unique_ptr<Lane>> lanes;
  std::vector<Lane*> all;
  Elements most;
  for (std::uint32_t k = 0; k < threads; ++k) {
    lanes.push_back(learner_.lane(replica.w(), std::move(portions[k]), report_.eta, scores[k]));
    if (lanes.back() == nullptr)
      throw ConfigError(
          "--algorithm hogwild with a model that threads cannot share; take --model logistic");
    all.push_back(lanes.back().get());
    most = std::max(most, all.back()->size());
  }
  co_await env().work(Work::Backward, most, [&] { env().together(all, t().value()); });
  for (const Score& score : scores) report_.own += score;
  report_.compute = env().now() - begin;
}

Task<void> TrainingRound::gradient_at(Range state) {
  begin_report();
  if (own_.empty()) co_return;
  const Time begin = env().now();
  Portion portion{own_[0].epoch, t(), context.group.rank.value(), {}};
  for (const Share& share : own_)
    for (const SampleId id : samples_of(share)) portion.samples.push_back(id);
  Channel<Ready> unheard;
  const GradientTarget target{replica.g().all()};
  co_await learner_.gradient(env(), state, target, std::move(portion), unheard, report_.own);
  report_.compute = env().now() - begin;
}

Task<void> TrainingRound::update(FusedPass fused) {
  std::size_t at = 0;
  if (!own_.empty()) {
    const FusedPass* const some = fused ? &fused : nullptr;
    co_await apply(replica.w(), replica.slots(), static_cast<double>(report_.own.samples), some);
    at = replica.N.value();
  }
  if (!fused) co_return;
  // The part of the model without a gradient: running statistics; all of it if the share is empty.
  const Range rest = model().slice(Elements(at), model().n - Elements(at));
  const SliceWork both = [&](std::size_t from, std::size_t to) {
    if (fused.before) fused.before(at + from, at + to);
    if (fused.after) fused.after(at + from, at + to);
  };
  if (rest.n > Elements(0))
    co_await in_slices(env(), Work::Update, rest.n.value(), rest.data().empty(), Order::Forward,
                       fused.arrays / 2, both);
}

Task<void> TrainingRound::apply(Range state, Range slots, double over, const FusedPass* fused) {
  const Time begin = env().now();
  const UpdateStep step{terms.eta(t()), t().value() + 1, over};
  UpdateTarget all{state.slice(Elements(0), replica.N), replica.g().all(), slots, Elements(0),
                   terms.segments};
  all.fused = fused;
  co_await shoal::update(env(), terms.task.rule, step, all);
  report_.update = env().now() - begin;
}

Task<void> TrainingRound::done() {
  finished_.insert(finished_.end(), own_.begin(), own_.end());
  ++made_;
  report_.samples = dealt_ - std::exchange(told_, dealt_);
  begun_ = env().now();
  if (journal_ != nullptr) co_await journal_->step_done(std::move(report_));
}

Task<void> TrainingRound::step() {
  co_await gradient();
  co_await update();
  co_await done();
}

}  // namespace shoal
