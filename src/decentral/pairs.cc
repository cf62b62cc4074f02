// Asynchronous decentralized SGD: two models become their mean, whenever one of the two wants. Lian
// et al. 2018 (AD-PSGD), arXiv:1710.06952.
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
// Nobody waits in a circle: the active wait for the passive, and those for nobody.
// Invariant: an exchange leaves the sum of the models as it is.
// The result is the mean of all models.
// Deviations: who is active is fixed by rank, and of the topology only edges between the two kinds
//   count: so any topology will do.
// Failure: an exchange that a new view cuts off may have moved one of the two.
#include <deque>
#include <utility>
#include <vector>

#include "base/random.h"
#include "decentral/audit.h"
#include "decentral/rendezvous.h"

namespace shoal {
namespace {

class Pairs final : public Rendezvous {
 public:
  Pairs(Node& node, const Learner& learner, const DecentralTerms& terms)
      : Rendezvous(node, learner, terms),
        state_(node.endpoint, learner.layout().all(), substance_),
        theirs_(model_arena()) {}

  void view_over() override { busy_ = false; }

  Task<void> run(Leg& leg) override {
    const bool active = leg.company.group.rank.value() % 2 == 0;
    if (!active) leg.spawn(serve(leg));
    Random random = leg.env().random(Purpose::Gossip, node_.id.value(), leg.t().value() << 8U);
    while (true) {
      const bool more = co_await leg.next();
      if (!more) break;
      co_await turn();
      co_await copy(leg.env(), state_.all(), leg.replica.w());
      let_go();
      co_await leg.gradient_at(state_.all());
      const bool due = (leg.t().value() + 1) % terms_.peering.tau == 0;
      if (active && due) co_await meet_somebody(leg, random);
      co_await turn();
      co_await take_rest(leg);
      co_await leg.update();
      let_go();
      co_await leg.done();
    }
  }

 private:
  // Whoever has it may change the model.
  Task<void> turn() {
    while (busy_) co_await changed_.wait();
    busy_ = true;
  }
  void let_go() {
    busy_ = false;
    changed_.notify_all();
  }

  // What the forward pass has changed beside the parameters.
  Task<void> take_rest(Leg& leg) {
    const Elements N = leg.replica.N;
    const Elements rest = leg.replica.w().n - N;
    co_await copy(leg.env(), leg.replica.rest(), state_.range(N, rest));
  }

  std::vector<Rank> passive_neighbours(Leg& leg) {
    const Graph graph =
        graph_of(terms_.peering.topology, leg.company.size(), leg.env().seed(), leg.t().value());
    std::vector<Rank> passive;
    for (const Rank r : graph[leg.company.group.rank.value()])
      if (r.value() % 2 == 1) passive.push_back(r);
    return passive;
  }

  Task<void> meet_somebody(Leg& leg, Random& random) {
    const std::vector<Rank> passive = passive_neighbours(leg);
    if (passive.empty()) co_return;
    const Rank to = passive[random.below(passive.size())];
    const NodeId with = leg.company.group.view->at(to);
    co_await swap_models(leg, with);
    Move move(leg);
    move.of(leg.model());
    co_await mix(leg.env(), leg.model(), 0.5, theirs_.all(), 0.5);
    move.with(with);
  }
  Task<void> swap_models(Leg& leg, NodeId with) {
    co_await leg.company.publish(with, leg.company.tag(kModel), leg.model().bytes());
    const Match match{.from = with, .tag = leg.company.tag(kAnswer)};
    co_await leg.company.recv(match, theirs_.all().bytes());
  }

  Task<void> serve(Leg& leg) {
    answers_.clear();
    while (answers_.size() < leg.company.size())
      answers_.emplace_back(node_.endpoint, N_, substance_);
    const Match match{.tag = leg.company.tag(kModel)};
    while (true) {
      Reading model = co_await leg.company.read(match, theirs_.all().bytes().size);
      const std::optional<Rank> rank = leg.company.group.view->rank_of(model.from());
      if (!rank) continue;
      const Range own = answers_[rank->value()].all();
      co_await turn();
      co_await copy(leg.env(), own, leg.model());
      Move move(leg);
      move.of(leg.model());
      co_await mix(leg.env(), leg.model(), 0.5, numbers_of(model, N_), 0.5);
      move.with(model.from());
      let_go();
      leg.spawn(answer(leg, model.from(), own));
    }
  }
  Task<void> answer(Leg& leg, NodeId to, Range own) {
    co_await leg.company.send(to, leg.company.tag(kAnswer), own.bytes());
  }

  Arena state_;   // what the gradient is computed at
  Arena theirs_;  // the model of the passive one
  std::deque<Arena> answers_;
  bool busy_ = false;
  Signal changed_;
};

}  // namespace

std::unique_ptr<Rendezvous> make_pairs(Node& node, const Learner& learner,
                                       const DecentralTerms& terms) {
  return std::make_unique<Pairs>(node, learner, terms);
}

}  // namespace shoal
