// Model averaging. Moritz et al. 2016 (SparkNet), arXiv:1511.06051; Zinkevich et al. 2010 (Parallel
// SGD: once, at the end); DL4J's parameter averaging; Stich 2019 (local SGD), arXiv:1805.09767.
//
//   for t = 0, 1, ..:
//     w_i <- update(w_i, g_i)
//     if tau divides t + 1:
//       m <- mean of w_j over all workers j
//       w_i <- m
//
// Symbols: P workers, N parameters, tau steps between meetings. Late meetings: mean_exchange.h.
// Cost a step and worker: 2 (P-1)/P N / tau values (direct); encoded: difference_mean.h.
// The result is the mean of all models.
// Failure: a meeting that a loss interrupts is left out; the models stay as they are and meet the
//   next time, without the lost worker's.
#include "decentral/average.h"

#include <utility>

#include "collective/tree.h"
#include "decentral/algorithm.h"
#include "decentral/independent.h"
#include "decentral/mean_exchange.h"

namespace shoal {
namespace {

class Averaging final : public DecentralAlgorithm {
 public:
  Averaging(const AverageSettings& settings, Node& node, const Learner& learner,
            const DecentralTerms& terms)
      : DecentralAlgorithm(node, learner, terms) {
    exchange_.emplace(node, learner, terms, settings.local_steps, settings.overlap_steps);
  }
  // Models never meet.
  Averaging(Node& node, const Learner& learner, const DecentralTerms& terms)
      : DecentralAlgorithm(node, learner, terms) {}

  std::vector<PerWorkerArray> own() override {
    return exchange_ ? exchange_->own() : std::vector<PerWorkerArray>();
  }

  void view_over() override {
    if (exchange_) exchange_->forget();
  }

  Task<void> run(TrainingRound& round) override {
    const MeanExchange::Change as_it_is;
    while (true) {
      const bool more = co_await round.next();
      if (!more) break;
      if (!exchange_) {
        co_await round.step();
        continue;
      }
      co_await round.gradient();
      co_await exchange_->update(round, as_it_is);
      co_await round.done();
      co_await exchange_->after_step(round, as_it_is);
    }
    if (exchange_) co_await exchange_->end(round, as_it_is);
  }

  // No single model is the result of an ensemble, and the mean of its models means nothing. Return
  // the first one; a checkpoint has all.
  Task<void> result(ViewContext& context, Range model, Range out) override {
    if (combine_of(terms_.recipe.algorithm) == Combine::None) {
      co_await DecentralAlgorithm::result(context, model, out);
      co_return;
    }
    const std::uint64_t operation = context.operations();
    co_await copy(context.node.env, out, model);
    if (!context.alone()) co_await tree_broadcast(context.group, Rank(0), out, operation);
  }

 private:
  std::optional<MeanExchange> exchange_;  // empty: models never meet
};

}  // namespace

std::unique_ptr<DecentralAlgorithm> make_algorithm(const AverageSettings& settings, Node& node,
                                                   const Learner& learner,
                                                   const DecentralTerms& terms) {
  return std::make_unique<Averaging>(settings, node, learner, terms);
}

std::unique_ptr<DecentralAlgorithm> make_algorithm(const IndependentSettings&, Node& node,
                                                   const Learner& learner,
                                                   const DecentralTerms& terms) {
  return std::make_unique<Averaging>(node, learner, terms);
}

}  // namespace shoal
