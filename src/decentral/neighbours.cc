// Decentralized parallel SGD: each model becomes a mean with those beside it. Lian et al. 2017
// (D-PSGD), arXiv:1705.09056. With one partner of a hypercube a step it is Zhao & Canny's butterfly
// mixing, SDM 2013.
//
//   for t = 0, 1, ..:
//     at once:  g <- gradient at w_i;   send w_i to the neighbours j of step t, get w_j
//     w_i <- sum over j and i of W_ij w_j        (W: doubly stochastic, topology.h)
//     w_i <- update(w_i, g)
//
// Symbols: P workers, N parameters, deg neighbours, W mixing weights.
// Cost a step and worker: deg messages of N, whatever P is; deg arrays of N.
// The result is the mean of all models, which moves as SGD does.
// Encoded: encoded_neighbours.cc.
// Failure: the graph of the next view is of its members alone, with weights of its own.
#include "collective/neighbours.h"

#include <deque>
#include <utility>
#include <vector>

#include "decentral/audit.h"
#include "decentral/rendezvous.h"
#include "runtime/slices.h"

namespace shoal {
namespace {

class NeighbourMixing final : public Rendezvous {
 public:
  using Rendezvous::Rendezvous;

  Task<void> run(Leg& leg) override {
    while (true) {
      const bool more = co_await leg.next();
      if (!more) break;
      begin_exchange(leg);
      co_await leg.gradient();
      co_await leg.company.with_others(until_there());
      Move move(leg);
      move.of(leg.replica.parameters());
      co_await mix_in(leg);
      move.with_all(leg.t().value());
      co_await leg.update();
      co_await leg.done();
    }
  }

 private:
  void begin_exchange(Leg& leg) {
    const std::uint64_t step = leg.t().value() / terms_.peering.tau;
    const Graph graph =
        graph_of(terms_.peering.topology, leg.company.size(), leg.env().seed(), step);
    const Mixing mixing = metropolis(graph);
    const std::uint32_t own = leg.company.group.rank.value();
    neighbours_.clear();
    weights_ = {static_cast<float>(mixing[own][own])};
    there_ = true;
    if (leg.t().value() % terms_.peering.tau != 0) weights_ = {1.0F};
    if (weights_[0] == 1.0F) return;
    for (const Rank r : graph[own]) {
      while (rooms_.size() <= neighbours_.size())
        rooms_.emplace_back(node_.endpoint, N_, substance_);
      neighbours_.push_back({leg.company.group.view->at(r), rooms_[neighbours_.size()].all()});
      weights_.push_back(static_cast<float>(mixing[own][r.value()]));
    }
    there_ = false;
    leg.spawn(exchange(leg));
  }

  Task<void> exchange(Leg& leg) {
    // Not every member takes part in each: the step numbers it.
    co_await leg.company.with_others(exchange_with(leg.company.group, leg.model(), neighbours_,
                                                   Company::operation_of_step(leg.t())));
    there_ = true;
    changed_.notify_all();
  }
  Task<void> until_there() {
    while (!there_) co_await changed_.wait();
  }

  Task<void> mix_in(Leg& leg) {
    if (neighbours_.empty()) co_return;
    std::vector<std::span<const float>> others;
    for (const Neighbour& n : neighbours_) others.push_back(n.room.data());
    const std::span<float> w = leg.model().data();
    const SliceWork work = [&](std::size_t from, std::size_t to) {
      for (std::size_t i = from; i < to; ++i) w[i] *= weights_[0];
      for (std::size_t n = 0; n < others.size(); ++n)
        for (std::size_t i = from; i < to; ++i) w[i] += weights_[n + 1] * others[n][i];
    };
    co_await in_slices(leg.env(), Work::Update, N_.value(), w.empty(), Order::Forward,
                       static_cast<double>(1 + others.size()), work);
  }

  std::vector<Neighbour> neighbours_;  // of the step at hand
  std::vector<float> weights_;         // the own first
  std::deque<Arena> rooms_;
  bool there_ = true;
  Signal changed_;
};

}  // namespace

std::unique_ptr<Rendezvous> make_neighbours(Node& node, const Learner& learner,
                                            const DecentralTerms& terms) {
  if (encodes(terms.encode)) return make_encoded_neighbours(node, learner, terms);
  return std::make_unique<NeighbourMixing>(node, learner, terms);
}

}  // namespace shoal
