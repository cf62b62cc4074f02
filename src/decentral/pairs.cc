// Asynchronous decentralized SGD: pairs of models become their mean; one of the two decides when.
// Lian et al. 2018 (AD-PSGD), arXiv:1710.06952.
//
//   worker i, at its own pace:
//     g <- gradient at a copy of w_i
//     active (even ranks), every tau steps:
//       send w_i to a random neighbour j among the odd ranks; get w_j;  w_i <- (w_i + w_j) / 2
//     w_i <- update(w_i, g)
//   passive (odd ranks), at any time, also while g is computed:
//       get w_i; send w_j;  w_j <- (w_i + w_j) / 2
//
// Symbols: P workers, N parameters, tau steps between meetings of an active worker.
// Cost a step of an active worker: N / tau values each way, whatever P is; one more copy of the
//   model.
// No deadlock: active workers wait for passive ones, which never wait.
// Invariant: an exchange does not change the sum of the two models.
// The result is the mean of all models.
// Deviations: the rank decides which workers are active, and only edges of the topology between
//   active and passive workers count, so that any topology will do.
// Failure: an exchange that a new view interrupts may have moved only one of the two models.
#include "decentral/pairs.h"

#include <deque>
#include <utility>
#include <vector>

#include "base/random.h"
#include "decentral/algorithm.h"
#include "decentral/audit.h"

namespace shoal {
namespace {

class Pairs final : public AlgorithmOf<PairsSettings> {
 public:
  Pairs(const PairsSettings& settings, Node& node, const Learner& learner,
        const DecentralTerms& terms)
      : AlgorithmOf(settings, node, learner, terms),
        state_(node.endpoint, learner.layout().all(), substance_),
        theirs_(model_arena()) {}

  void view_over() override { busy_ = false; }

  Task<void> run(TrainingRound& round) override {
    const bool active = round.context.group.rank.value() % 2 == 0;
    if (!active) round.spawn(serve(round));
    Random random = round.env().random(Purpose::Gossip, node_.id.value(), round.t().value() << 8U);
    while (true) {
      const bool more = co_await round.next();
      if (!more) break;
      co_await turn();
      co_await copy(round.env(), state_.all(), round.replica.w());
      let_go();
      co_await round.gradient_at(state_.all());
      const bool due = (round.t().value() + 1) % settings_.local_steps == 0;
      if (active && due) co_await meet_somebody(round, random);
      co_await turn();
      co_await take_rest(round);
      co_await round.update();
      let_go();
      co_await round.done();
    }
  }

 private:
  // Waits for the exclusive right to change the model.
  Task<void> turn() {
    while (busy_) co_await changed_.wait();
    busy_ = true;
  }
  void let_go() {
    busy_ = false;
    changed_.notify_all();
  }

  // Copies the state beside the parameters that the forward pass has changed.
  Task<void> take_rest(TrainingRound& round) {
    const Elements N = round.replica.N;
    const Elements rest = round.replica.w().n - N;
    co_await copy(round.env(), round.replica.buffers(), state_.range(N, rest));
  }

  std::vector<Rank> passive_neighbours(TrainingRound& round) {
    const Graph graph =
        graph_of(settings_.topology, round.context.size(), round.env().seed(), round.t().value());
    std::vector<Rank> passive;
    for (const Rank r : graph[round.context.group.rank.value()])
      if (r.value() % 2 == 1) passive.push_back(r);
    return passive;
  }

  Task<void> meet_somebody(TrainingRound& round, Random& random) {
    const std::vector<Rank> passive = passive_neighbours(round);
    if (passive.empty()) co_return;
    const Rank to = passive[random.below(passive.size())];
    const NodeId with = round.context.group.view->at(to);
    co_await swap_models(round, with);
    ConservationProbe move(round);
    move.of(round.model());
    co_await mix(round.env(), round.model(), 0.5, theirs_.all(), 0.5);
    move.with(with);
  }
  Task<void> swap_models(TrainingRound& round, NodeId with) {
    co_await round.context.publish(with, round.context.tag(kModel), round.model().bytes());
    const Match match{.from = with, .tag = round.context.tag(kAnswer)};
    co_await round.context.recv(match, theirs_.all().bytes());
  }

  Task<void> serve(TrainingRound& round) {
    answers_.clear();
    while (answers_.size() < round.context.size())
      answers_.emplace_back(node_.endpoint, N_, substance_);
    const Match match{.tag = round.context.tag(kModel)};
    while (true) {
      Reading model = co_await round.context.read(match, theirs_.all().bytes().size);
      const std::optional<Rank> rank = round.context.group.view->rank_of(model.from());
      if (!rank) continue;
      const Range own = answers_[rank->value()].all();
      co_await turn();
      co_await copy(round.env(), own, round.model());
      ConservationProbe move(round);
      move.of(round.model());
      co_await mix(round.env(), round.model(), 0.5, numbers_of(model, N_), 0.5);
      move.with(model.from());
      let_go();
      round.spawn(answer(round, model.from(), own));
    }
  }
  Task<void> answer(TrainingRound& round, NodeId to, Range own) {
    co_await round.context.send(to, round.context.tag(kAnswer), own.bytes());
  }

  Arena state_;   // the model at which the gradient is computed
  Arena theirs_;  // the passive worker's model
  std::deque<Arena> answers_;
  bool busy_ = false;
  Signal changed_;
};

}  // namespace

std::unique_ptr<DecentralAlgorithm> make_algorithm(const PairsSettings& settings, Node& node,
                                                   const Learner& learner,
                                                   const DecentralTerms& terms) {
  return std::make_unique<Pairs>(settings, node, learner, terms);
}

}  // namespace shoal
