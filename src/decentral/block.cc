// Block momentum: the change of the mean model is the gradient of an outer optimizer. Chen & Huo
// 2016 (BMUF), ICASSP; with an inner AdamW and rounds of hundreds of steps: Douillard et al. 2023
// (DiLoCo), arXiv:2311.08105.
//
//   W: the model with which all workers began the round;  D = 0 at first
//   every tau steps:
//     G <- (mean of w_j over all workers j) - W
//     D <- eta_b D + zeta G
//     W <- W + D                     classic
//     W <- W + zeta G + eta_b D      Nesterov
//     w_i <- W
//
// Symbols: eta_b block momentum, zeta block step size (DiLoCo's outer momentum and step size).
// Cost: as averaging (average.cc), and two more arrays of N.
// Deviations: the papers compute Nesterov's W + eta_b D from a W that is kept separately; we keep
//   only that sum, because nothing else is used, as PyTorch's SGD does.
// The result is the mean of all models, which is W after a meeting.
// Failure: W and D are the same on all. A worker that has missed a meeting, or is new, copies both
//   from one that has not, and begins with W.
#include "decentral/block.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "decentral/algorithm.h"
#include "decentral/mean_exchange.h"

namespace shoal {
namespace {

class BlockMomentum final : public AlgorithmOf<BlockSettings> {
 public:
  BlockMomentum(const BlockSettings& settings, Node& node, const Learner& learner,
                const DecentralTerms& terms)
      : AlgorithmOf(settings, node, learner, terms),
        exchange_(node, learner, terms, settings.local_steps, settings.overlap_steps),
        W_(model_arena()),
        D_(model_arena()) {}

  std::uint64_t meetings() const override { return meetings_; }

  Task<void> begin(ViewContext& context, Range model, const MembershipSnapshot& snapshot) override {
    const auto [source, most] = furthest(snapshot);
    if (most == 0) {
      // All have the same model: no worker has made a step.
      co_await copy(context.node.env, W_.all(), model);
      co_await mix(context.node.env, D_.all(), 0, D_.all(), 0);
      meetings_ = 1;
      co_return;
    }
    std::vector<bool> behind;
    for (const std::uint64_t m : snapshot.meetings) behind.push_back(m < most);
    const std::vector<Range> arrays{W_.all(), D_.all()};
    co_await copy_from(context, source, behind, arrays);
    const bool missed = meetings_ > 0 && meetings_ < most;
    if (missed || snapshot.newcomers[context.group.rank.value()])
      co_await copy(context.node.env, model, W_.all());
    meetings_ = most;
  }

  std::vector<PerWorkerArray> own() override {
    std::vector<PerWorkerArray> arrays;
    arrays.push_back({"block", W_.all(), Owner::All});
    arrays.push_back({"block.momentum", D_.all(), Owner::All});
    std::ranges::move(exchange_.own(), std::back_inserter(arrays));
    return arrays;
  }
  Task<void> resume(ViewContext& context, std::optional<Range> result,
                    const std::vector<PerWorkerArray>& own) override {
    meetings_ = own[0].came && own[1].came ? 1 : 0;
    if (meetings_ > 0 || !result) co_return;
    co_await copy(context.node.env, W_.all(), *result);
    co_await clear(context.node.env, D_.all());
    meetings_ = 1;
  }

  void view_over() override { exchange_.forget(); }

  Task<void> run(TrainingRound& round) override {
    const MeanExchange::Change change = change_in(round.context.size());
    while (true) {
      const bool more = co_await round.next();
      if (!more) break;
      co_await round.gradient();
      co_await exchange_.update(round, change);
      co_await round.done();
      const bool met = co_await exchange_.after_step(round, change);
      if (met) ++meetings_;
    }
    const bool met = co_await exchange_.end(round, change);
    if (met) ++meetings_;
  }

 private:
  // Moves to the new W, with which all go on.
  MeanExchange::Change change_in(std::uint64_t workers) {
    const BlockRates rates{
        .eta_b = static_cast<float>(block_momentum(settings_.block_momentum, workers)),
        .zeta = static_cast<float>(settings_.block_rate),
        .nesterov = settings_.block_nesterov,
    };
    return [rates, this](const Met& met, std::size_t at, std::size_t n) {
      move_to_block(met, &W_.all().data()[at], &D_.all().data()[at], rates, n);
    };
  }

  MeanExchange exchange_;
  Arena W_, D_;
  std::uint64_t meetings_ = 0;
};

}  // namespace

std::unique_ptr<DecentralAlgorithm> make_algorithm(const BlockSettings& settings, Node& node,
                                                   const Learner& learner,
                                                   const DecentralTerms& terms) {
  return std::make_unique<BlockMomentum>(settings, node, learner, terms);
}

}  // namespace shoal
