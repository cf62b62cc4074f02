// Model averaging. Moritz et al. 2016 (SparkNet), arXiv:1511.06051; Zinkevich et al. 2010 (Parallel
// SGD: once, at the end); DL4J's parameter averaging; Stich 2019 (local SGD), arXiv:1805.09767.
//
//   for t = 0, 1, ..:
//     w_i <- update(w_i, g_i)
//     if tau divides t + 1:
//       m <- mean of w_j over all workers j
//       w_i <- m
//
// Symbols: P workers, N parameters, tau steps between meetings. mean_exchange.h: late meetings.
// Cost a step and worker: 2 (P-1)/P N / tau values (direct); encoded: difference_mean.h.
// The result is the mean of all models.
// Failure: a meeting that is cut off by a loss is left out; the models stay as they are and meet
//   the next time, without the lost one's.
#include <utility>

#include "collective/tree.h"
#include "decentral/mean_exchange.h"
#include "decentral/rendezvous.h"

namespace shoal {
namespace {

class Averaging final : public Rendezvous {
 public:
  Averaging(Node& node, const Learner& learner, const DecentralTerms& terms)
      : Rendezvous(node, learner, terms) {
    if (terms.peering.meet == Encounter::Average) exchange_.emplace(node, learner, terms);
  }

  std::vector<OwnArray> own() override {
    return exchange_ ? exchange_->own() : std::vector<OwnArray>();
  }

  void view_over() override {
    if (exchange_) exchange_->forget();
  }

  Task<void> run(Leg& leg) override {
    const MeanExchange::Change as_it_is;
    while (true) {
      const bool more = co_await leg.next();
      if (!more) break;
      if (!exchange_) {
        co_await leg.step();
        continue;
      }
      co_await leg.gradient();
      co_await exchange_->update(leg, as_it_is);
      co_await leg.done();
      co_await exchange_->after_step(leg, as_it_is);
    }
    if (exchange_) co_await exchange_->end(leg, as_it_is);
  }

  // Of an ensemble no single model is the result, and a mean of its models means nothing: it is the
  // first one. A checkpoint has all.
  Task<void> result(Company& company, Range model, Range out) override {
    if (terms_.peering.combine == Combine::None) {
      co_await Rendezvous::result(company, model, out);
      co_return;
    }
    const std::uint64_t operation = company.operations();
    co_await copy(company.node.env, out, model);
    if (!company.alone()) co_await tree_broadcast(company.group, Rank(0), out, operation);
  }

 private:
  std::optional<MeanExchange> exchange_;  // none: models never meet
};

}  // namespace

std::unique_ptr<Rendezvous> make_average(Node& node, const Learner& learner,
                                         const DecentralTerms& terms) {
  return std::make_unique<Averaging>(node, learner, terms);
}

}  // namespace shoal
