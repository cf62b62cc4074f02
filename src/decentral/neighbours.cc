// Decentralized parallel SGD: each model becomes a weighted mean of itself and its neighbours. Lian
// et al. 2017 (D-PSGD), arXiv:1705.09056. With one hypercube partner a step it is the butterfly
// mixing of Zhao & Canny, SDM 2013.
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
// Failure: the graph of the next view consists of its members only, with new weights.
#include "decentral/neighbours.h"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "collective/neighbours.h"
#include "decentral/algorithm.h"
#include "decentral/audit.h"
#include "runtime/slices.h"

namespace shoal {
namespace {

class NeighbourMixing final : public AlgorithmOf<NeighboursSettings> {
 public:
  using AlgorithmOf::AlgorithmOf;

  Task<void> run(TrainingRound& round) override {
    while (true) {
      const bool more = co_await round.next();
      if (!more) break;
      begin_exchange(round);
      co_await round.gradient();
      co_await round.context.with_others(until_there());
      ConservationProbe move(round);
      move.of(round.replica.parameters());
      co_await mix_in(round);
      move.with_all(round.t().value());
      co_await round.update();
      co_await round.done();
    }
  }

 private:
  void begin_exchange(TrainingRound& round) {
    const std::uint64_t step = round.t().value() / settings_.local_steps;
    const Graph graph =
        graph_of(settings_.topology, round.context.size(), round.env().seed(), step);
    const Mixing mixing = metropolis(graph);
    const std::uint32_t own = round.context.group.rank.value();
    neighbours_.clear();
    weights_ = {static_cast<float>(mixing[own][own])};
    there_ = true;
    if (round.t().value() % settings_.local_steps != 0) weights_ = {1.0F};
    if (weights_[0] == 1.0F) return;
    for (const Rank r : graph[own]) {
      while (rooms_.size() <= neighbours_.size())
        rooms_.emplace_back(node_.endpoint, N_, substance_);
      neighbours_.push_back({round.context.group.view->at(r), rooms_[neighbours_.size()].all()});
      weights_.push_back(static_cast<float>(mixing[own][r.value()]));
    }
    there_ = false;
    round.spawn(exchange(round));
  }

  Task<void> exchange(TrainingRound& round) {
    // Only some members take part in each exchange: the step gives its number.
    co_await round.context.with_others(exchange_with(round.context.group, round.model(),
                                                     neighbours_,
                                                     ViewContext::operation_of_step(round.t())));
    there_ = true;
    changed_.notify_all();
  }
  Task<void> until_there() {
    while (!there_) co_await changed_.wait();
  }

  Task<void> mix_in(TrainingRound& round) {
    if (neighbours_.empty()) co_return;
    std::vector<std::span<const float>> others;
    for (const Neighbour& n : neighbours_) others.push_back(n.room.data());
    const std::span<float> w = round.model().data();
    const SliceWork work = [&](std::size_t from, std::size_t to) {
      for (std::size_t i = from; i < to; ++i) w[i] *= weights_[0];
      for (std::size_t n = 0; n < others.size(); ++n)
        for (std::size_t i = from; i < to; ++i) w[i] += weights_[n + 1] * others[n][i];
    };
    co_await in_slices(round.env(), Work::Update, N_.value(), w.empty(), Order::Forward,
                       static_cast<double>(1 + others.size()), work);
  }

  std::vector<Neighbour> neighbours_;  // of the current step
  std::vector<float> weights_;         // the own weight first
  std::deque<Arena> rooms_;
  bool there_ = true;
  Signal changed_;
};

}  // namespace

double mix_rate(const NeighboursSettings& settings, const Encoding& encoding) {
  if (settings.mix_rate >= 0) return settings.mix_rate;
  return traits(encoding).mix_rate;
}

std::unique_ptr<DecentralAlgorithm> make_algorithm(const NeighboursSettings& settings, Node& node,
                                                   const Learner& learner,
                                                   const DecentralTerms& terms) {
  if (encodes(terms.recipe.encode)) return make_encoded_neighbours(settings, node, learner, terms);
  return std::make_unique<NeighbourMixing>(settings, node, learner, terms);
}

}  // namespace shoal
