// Model averaging in pairs that take turns: ranks 0 and 1, 2 and 3, ..; the next time 1 and 2, 3
// and 4, .. In between each model moves along a chain.
//
//   for t = 0, 1, ..:
//     w_i <- update(w_i, g_i)
//     if tau divides t + 1:  swap models with the partner j;  w_i <- (w_i + w_j) / 2
//
// Symbols: tau steps between meetings. Cost of a meeting: N values each way, one more model.
// The result is the mean of all models.
// Failure: a meeting that a loss interrupts is left out by one of the two, or by both.
#include "decentral/partners.h"

#include <array>

#include "collective/neighbours.h"
#include "decentral/algorithm.h"
#include "decentral/audit.h"

namespace shoal {
namespace {

class Partners final : public AlgorithmOf<PartnersSettings> {
 public:
  Partners(const PartnersSettings& settings, Node& node, const Learner& learner,
           const DecentralTerms& terms)
      : AlgorithmOf(settings, node, learner, terms), theirs_(model_arena()) {}

  Task<void> run(TrainingRound& round) override {
    while (true) {
      const bool more = co_await round.next();
      if (!more) break;
      co_await round.step();
      const std::uint64_t steps = round.t().value();
      if (steps % settings_.local_steps == 0) co_await meet(round, steps / settings_.local_steps);
    }
  }

 private:
  Task<void> meet(TrainingRound& round, std::uint64_t meeting) {
    const Group& group = round.context.group;
    const bool up = (group.rank.value() + meeting) % 2 == 0;
    const std::uint64_t partner = up ? group.rank.value() + 1 : group.rank.value() - 1;
    if (partner >= group.size()) co_return;  // also where it is -1
    const NodeId with = group.at(partner);
    const std::array<Neighbour, 1> neighbours = {Neighbour{with, theirs_.all()}};
    const std::uint64_t operation = ViewContext::operation_of_step(round.t());
    co_await round.context.with_others(exchange_with(group, round.model(), neighbours, operation));
    ConservationProbe move(round);
    move.of(round.model());
    co_await mix(round.env(), round.model(), 0.5, theirs_.all(), 0.5);
    move.with(with);
  }

  Arena theirs_;
};

}  // namespace

std::unique_ptr<DecentralAlgorithm> make_algorithm(const PartnersSettings& settings, Node& node,
                                                   const Learner& learner,
                                                   const DecentralTerms& terms) {
  return std::make_unique<Partners>(settings, node, learner, terms);
}

}  // namespace shoal
