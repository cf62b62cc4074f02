// Elastic averaging. Zhang, Choromanska, LeCun 2015 (EASGD), arXiv:1412.6651. With Nesterov
// momentum at the workers it is the same paper's EAMSGD; with a rate that follows convergence it is
// Kim, Park, Jang, Yoon 2016 (DeepSpark), arXiv:1602.08191.
//
//   every tau steps of worker i, g being the gradient at w_i before the move:
//     d <- w_i - c
//     w_i <- w_i - alpha d;   c <- c + beta d
//   w_i <- update(w_i, g)
//
// Late (--overlap-steps s): the worker sends a copy, trains s more steps during the exchange, and
// then does w_i <- w_i - alpha d with the d of that copy; the steps in between are kept. The member
// that holds c sends nothing, and is never late.
//
// In step, all meet at once: c <- c + beta (sum of all d), which each computes from the mean of all
// models. Asynchronous workers ask the member that holds c, in pieces. Each piece is an exchange
// of its own, so that the first answer arrives while the last piece is on its way.
//
// Rates that follow convergence (the survey says that DeepSpark's do, but not how): each worker has
// its own alpha. At a meeting, if the mean loss of the worker's latest steps is lower than at the
// previous meeting, alpha is divided by 1.1, so that the model explores while that pays; otherwise
// it is multiplied by 1.1. It stays between half and twice the initial alpha.
//
// Symbols: P workers, c center, alpha and beta elastic rates, 0.9 / P by default.
// Cost a step and worker: in step as averaging; else 2 N / tau values, and P times that at the
//   member with the center.
// The result is the center.
// Failure: in step c is the same on all; a worker that has missed a meeting, or is new, copies it.
//   Asynchronous: c is lost with the member that holds it; the mean of all models replaces it.
#include "decentral/elastic.h"

#include <fmt/core.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/stream_copy.h"
#include "collective/tree.h"
#include "decentral/algorithm.h"
#include "decentral/audit.h"
#include "decentral/model_sum.h"
#include "runtime/slices.h"

namespace shoal {
namespace {

class Elastic final : public AlgorithmOf<ElasticSettings> {
 public:
  Elastic(const ElasticSettings& settings, Node& node, const Learner& learner,
          const DecentralTerms& terms)
      : AlgorithmOf(settings, node, learner, terms), center_(model_arena()), sum_(node, learner) {}

  std::uint64_t meetings() const override { return meetings_; }

  Task<void> begin(ViewContext& context, Range model, const MembershipSnapshot& snapshot) override {
    members_ = context.size();
    const auto [source, most] = furthest(snapshot);
    if (most == 0) {
      node_.env.probe("decentral: a center was made of all models");
      host_ = Rank(0);
      co_await mean_of_all(context, terms_.recipe.exchange, model, center_.all(), scratch());
      meetings_ = in_step() || context.group.rank == host_ ? 1 : 0;
      co_return;
    }
    host_ = source;
    if (!in_step()) co_return;
    std::vector<bool> behind;
    for (const std::uint64_t m : snapshot.meetings) behind.push_back(m < most);
    const std::vector<Range> arrays(1, center_.all());
    co_await copy_from(context, source, behind, arrays);
    meetings_ = most;
  }

  // The result is the center.
  Task<void> resume(ViewContext& context, std::optional<Range> result,
                    const std::vector<PerWorkerArray>& own) override {
    (void)own;
    if (!result) co_return;
    co_await copy(context.node.env, center_.all(), *result);
    meetings_ = in_step() || context.group.rank == Rank(0) ? 1 : 0;
  }

  void view_over() override {
    busy_ = false;
    under_way_ = false;
    holds_center_ = false;
    copied_now_ = false;
  }

  Task<void> run(TrainingRound& round) override {
    if (!in_step() && round.context.group.rank == host_) round.spawn(serve(round));
    while (true) {
      const bool more = co_await round.next();
      if (!more) break;
      co_await round.gradient();
      note_loss(round.score());
      const std::uint64_t since = round.t().value() % settings_.local_steps;
      FusedPass fused;
      if (since == 0) co_await begin_meeting(round, fused);
      if (since == lateness(round)) co_await end_meeting(round, fused);
      co_await round.update(std::move(fused));
      if (std::exchange(holds_center_, false)) let_go();
      if (std::exchange(copied_now_, false)) round.spawn(exchange(round));
      co_await round.done();
    }
    FusedPass fused;
    co_await end_meeting(round, fused);
    co_await pass(round, fused.before);
  }

  Task<void> result(ViewContext& context, Range model, Range out) override {
    (void)model;
    const std::uint64_t operation = context.operations();
    if (in_step() || context.group.rank == host_)
      co_await copy(context.node.env, out, center_.all());
    if (!in_step() && !context.alone())
      co_await tree_broadcast(context.group, host_, out, operation);
  }

 private:
  bool in_step() const { return settings_.pace == WorkerPace::Sync; }
  double alpha() const { return std::min(1.0, pull_ * elastic_alpha(settings_, members_)); }
  // The change of the center per change of a model.
  double worth() const { return alpha() > 0 ? beta() / alpha() : 0; }
  double beta() const { return center_rate(settings_, members_); }

  void note_loss(const Score& score) {
    constexpr double kForget = 0.2;
    if (score.samples == 0) return;
    const double now = mean_loss(score);
    loss_ = loss_ == 0 ? now : (1 - kForget) * loss_ + kForget * now;
  }
  void adapt() {
    constexpr double kChange = 1.1;
    if (!settings_.adapt_alpha) return;
    if (loss_at_meeting_ > 0)
      pull_ = std::clamp(loss_ < loss_at_meeting_ ? pull_ / kChange : pull_ * kChange, 0.5, 2.0);
    loss_at_meeting_ = loss_;
  }

  bool hosts(TrainingRound& round) const { return !in_step() && round.context.group.rank == host_; }
  // Steps between the begin and the end of a meeting.
  std::uint64_t lateness(TrainingRound& round) const {
    return hosts(round) ? 0 : settings_.overlap_steps;
  }
  // The range that meets the center: the model, or a copy of it if training continues meanwhile.
  Range met(TrainingRound& round) {
    if (lateness(round) == 0) return round.model();
    if (!copied_) copied_.emplace(node_.endpoint, N_, substance_);
    return copied_->all();
  }
  // A pass over the whole model, for work that is not fused with an update.
  static Task<void> pass(TrainingRound& round, const SliceWork& work) {
    const Range model = round.model();
    if (work)
      co_await in_slices(round.env(), Work::Update, model.n.value(), model.data().empty(),
                         Order::Forward, 2, work);
  }

  Task<void> begin_meeting(TrainingRound& round, FusedPass& fused) {
    adapt();
    under_way_ = true;
    came_ = false;
    if (hosts(round)) {
      co_await round.context.with_others(own_turn());
      holds_center_ = came_ = true;
    } else if (lateness(round) == 0) {
      co_await exchange(round);
    } else {
      fused.before = copy_part(round);
      fused.arrays = 1;
      copied_now_ = true;
    }
  }

  // In step, forms the mean of all models; else gets the difference to the center, which has then
  // moved.
  Task<void> exchange(TrainingRound& round) {
    ViewContext& context = round.context;
    if (in_step()) {
      co_await context.with_others(sum_.form(context, terms_.recipe.exchange, met(round)));
    } else {
      co_await ask_center(round);
    }
    came_ = true;
    changed_.notify_all();
  }

  Task<void> until_came() {
    while (!came_) co_await changed_.wait();
  }

  // The pass that updates the model also makes the move, unless the job is audited.
  Task<void> end_meeting(TrainingRound& round, FusedPass& fused) {
    if (!std::exchange(under_way_, false)) co_return;
    co_await round.context.with_others(until_came());
    ConservationProbe move(round);
    move.of(round.model(), worth());
    if (in_step()) {
      fused.before = in_step_part(round);
      fused.arrays = 4;
      move.of(center_.all(), 1 / static_cast<double>(members_));
    } else if (hosts(round)) {
      fused.before = both_part(round);
      fused.arrays = 2;
      move.of(center_.all());
    } else {
      fused.before = difference_part(round);
      fused.arrays = 1;
    }
    if (terms_.task.audit) {
      co_await pass(round, fused.before);
      fused = FusedPass();
      if (alpha() > 0) note(round, move);
    }
    if (in_step() || hosts(round)) ++meetings_;
  }
  void note(TrainingRound& round, const ConservationProbe& move) const {
    if (in_step()) {
      move.with_all(meetings_);
    } else if (hosts(round)) {
      move.alone();
    } else {
      move.with(round.context.group.view->at(host_));
    }
  }

  // ---- Work on slices of models

  SliceWork copy_part(TrainingRound& round) {
    const std::span<const float> w = round.model().data();
    const std::span<float> to = met(round).data();
    return [w, to](std::size_t from, std::size_t end) {
      stream_copy(std::as_writable_bytes(to.subspan(from)).data(),
                  std::as_bytes(w.subspan(from)).data(), (end - from) * sizeof(float));
    };
  }

  SliceWork in_step_part(TrainingRound& round) {
    const auto a = static_cast<float>(alpha());
    const auto b = static_cast<float>(beta() * static_cast<double>(members_));
    const std::span<const float> sent =
        lateness(round) > 0 ? met(round).data() : std::span<const float>();
    const Met all = sum_.met(round.model().data(), sent);
    const std::span<float> c = center_.all().data();
    return [=](std::size_t from, std::size_t to) {
      move_in_step(all.from(from), &c[from], a, b, to - from);
    };
  }

  SliceWork both_part(TrainingRound& round) {
    const auto a = static_cast<float>(alpha());
    const auto b = static_cast<float>(beta());
    const std::span<float> w = round.model().data();
    const std::span<float> c = center_.all().data();
    return
        [=](std::size_t from, std::size_t to) { pull_both(&w[from], &c[from], a, b, to - from); };
  }

  SliceWork difference_part(TrainingRound& round) {
    const auto a = static_cast<float>(-alpha());
    const std::span<float> w = round.model().data();
    const std::span<const float> d = sum_.all().data();
    return [=](std::size_t from, std::size_t to) { mix(&w[from], 1, &d[from], a, to - from); };
  }

  // ---- Asynchronous: one member holds the center

  Task<void> own_turn() {
    while (busy_) co_await changed_.wait();
    busy_ = true;
  }
  void let_go() {
    busy_ = false;
    changed_.notify_all();
  }

  // d <- w - c;  c <- c + beta d
  Task<void> pull(std::span<const float> w, Range center, Range difference) {
    const auto b = static_cast<float>(beta());
    const std::span<float> c = center.data();
    const std::span<float> d = difference.data();
    const SliceWork work = [&](std::size_t from, std::size_t to) {
      pull_center(&w[from], &c[from], &d[from], b, to - from);
    };
    // Work::Reduce, so that it does not wait for this member's gradient computation.
    co_await in_slices(node_.env, Work::Reduce, center.n.value(), d.empty(), Order::Forward, 2,
                       work);
  }

  Task<void> ask_center(TrainingRound& round) {
    const NodeId host = round.context.group.view->at(host_);
    const Match match{.from = host, .tag = round.context.tag(kAnswer)};
    const Elements piece = node_.env.buggify("elastic: small pieces") ? Elements(3) : kModelPiece;
    const std::uint64_t pieces = pieces_of(N_, piece);
    co_await with_group([&](TaskGroup& tasks) -> Task<> {
      // Ask for all pieces at once: a question sent later would queue behind data in the same
      // direction.
      for (std::uint64_t i = 0; i < pieces; ++i)
        tasks.spawn(round.context.publish(host, round.context.tag(kModel),
                                          part_of(met(round), i, pieces).bytes()));
      for (std::uint64_t i = 0; i < pieces; ++i)
        tasks.spawn(take_answer(round, match, part_of(sum_.all(), i, pieces)));
      co_return;
    });
  }
  static Task<void> take_answer(TrainingRound& round, Match match, Range answer) {
    co_await round.context.recv(match, answer.bytes());
  }

  // Serves the pieces of each caller in order; pieces of other callers may come in between.
  Task<void> serve(TrainingRound& round) {
    callers_.clear();
    while (callers_.size() < round.context.size()) callers_.emplace_back(*this);
    const Match match{.tag = round.context.tag(kModel)};
    while (true) {
      Reading model = co_await round.context.read(match);
      const std::optional<Rank> rank = round.context.group.view->rank_of(model.from());
      if (!rank) continue;
      Caller& caller = callers_[rank->value()];
      const Elements n(model.size().value() / sizeof(float));
      const Elements left = N_ - caller.at;
      require_size(model, Bytes(std::min(n, left).value() * sizeof(float)));
      const Range center = center_.range(caller.at, n);
      const Range answer = caller.answer.range(caller.at, n);
      co_await own_turn();
      ConservationProbe move(round);
      move.of(center);
      co_await pull(numbers_of(model, n), center, answer);
      caller.gained.add(move.moment());
      let_go();
      round.spawn(give_answer(round, model.from(), answer));
      caller.at += n;
      if (caller.at == N_) ended(round, model.from(), caller);
    }
  }
  Task<void> give_answer(TrainingRound& round, NodeId to, Range answer) {
    co_await round.context.send(to, round.context.tag(kAnswer), answer.bytes());
  }

  // An exchange with a member that asks.
  struct Caller {
    explicit Caller(Elastic& elastic) : answer(elastic.model_arena()) {}
    Arena answer;
    Elements at{};    // received so far
    Moment gained{};  // by the center
  };
  void ended(TrainingRound& round, NodeId with, Caller& caller) {
    ++meetings_;
    ConservationProbe move(round);
    move.add(std::exchange(caller.gained, Moment()));
    if (alpha() > 0) move.with(with);
    caller.at = Elements(0);
  }

  Arena center_;
  ModelSum sum_;                 // of all models; asynchronous: the difference to the center
  std::optional<Arena> copied_;  // the model that meets, if late
  bool under_way_ = false;       // a meeting has begun
  bool came_ = false;            // the exchange is complete
  bool copied_now_ = false;      // by this step's update: the exchange may begin
  bool holds_center_ = false;    // this step's update changes the center
  std::deque<Caller> callers_;   // by rank, at the member that holds the center
  Rank host_;                    // the member that holds the center, if asynchronous
  bool busy_ = false;            // the center is being changed
  double pull_ = 1;              // factor of alpha, where it adapts
  double loss_ = 0;              // mean of the latest steps
  double loss_at_meeting_ = 0;
  Signal changed_;
  std::uint64_t members_ = 1;
  std::uint64_t meetings_ = 0;
};

}  // namespace

double elastic_alpha(const ElasticSettings& settings, std::uint64_t workers) {
  return settings.alpha >= 0 ? settings.alpha : 0.9 / static_cast<double>(workers);
}

double center_rate(const ElasticSettings& settings, std::uint64_t workers) {
  return settings.center_rate < 0 ? elastic_alpha(settings, workers) : settings.center_rate;
}

void require_possible(const ElasticSettings& settings, std::uint64_t workers) {
  const double rate = center_rate(settings, workers);
  if (rate * static_cast<double>(workers) > 1)
    throw ConfigError(
        fmt::format("--center-rate {} with {} workers: together they would move the center beyond "
                    "their models; take at most {}",
                    rate, workers, 1 / static_cast<double>(workers)));
}

std::unique_ptr<DecentralAlgorithm> make_algorithm(const ElasticSettings& settings, Node& node,
                                                   const Learner& learner,
                                                   const DecentralTerms& terms) {
  return std::make_unique<Elastic>(settings, node, learner, terms);
}

}  // namespace shoal
