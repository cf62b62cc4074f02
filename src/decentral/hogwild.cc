// Hogwild: the threads of a worker share its model and update it without locks. Recht, Re, Wright,
// Niu, "Hogwild!: A Lock-Free Approach to Parallelizing Stochastic Gradient Descent", NIPS 2011,
// arXiv:1106.5730.
//
//   each thread, for each of its samples (x, y):
//     g <- gradient of the sample's loss at w, read while other threads write it
//     for each j that x has:   w_j <- w_j - eta g_j
//
// Which races occur: base/shared.h. If samples have few of many features, two threads rarely update
// the same number, and little is lost.
//
// Symbols: k threads (--learners); B samples of a worker, which its threads share.
// Cost: a step for each sample, k of them at a time.
// Several workers average their models every tau times B samples, as in average.cc; a single worker
//   does not.
// The result is the model; of several workers their mean.
// Deviations: threads join after B samples, so that a view can end: choose a large B. The ledger
//   determines the order in which a thread takes samples. The step size is the schedule's.
// Failure: as average.cc. A lost worker's threads are lost with it.
#include "decentral/hogwild.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "decentral/algorithm.h"
#include "decentral/mean_exchange.h"

namespace shoal {
namespace {

void require_plain(const Rule& rule) {
  if (rule.kind == RuleKind::Sgd && rule.own == nullptr && rule.weight_decay == 0 &&
      rule.clip_norm == 0)
    return;
  throw ConfigError(
      fmt::format("--algorithm hogwild with {}: threads update single elements concurrently; take "
                  "--optimizer sgd, without weight decay and clipping",
                  describe(rule)));
}

class Hogwild final : public AlgorithmOf<HogwildSettings> {
 public:
  Hogwild(const HogwildSettings& settings, Node& node, const Learner& learner,
          const DecentralTerms& terms)
      : AlgorithmOf(settings, node, learner, terms),
        exchange_(node, learner, terms, settings.local_steps, settings.overlap_steps) {
    require_plain(terms.task.rule);
  }

  void view_over() override { exchange_.forget(); }

  Task<void> run(TrainingRound& round) override {
    const MeanExchange::Change as_it_is;
    const std::uint32_t threads = std::max(settings_.learners, 1U);
    while (true) {
      const bool more = co_await round.next();
      if (!more) break;
      co_await round.steps_of_samples(threads);
      co_await round.done();
      if (!round.context.alone()) co_await exchange_.after_step(round, as_it_is);
    }
    co_await exchange_.end(round, as_it_is);
  }

 private:
  MeanExchange exchange_;
};

}  // namespace

std::unique_ptr<DecentralAlgorithm> make_algorithm(const HogwildSettings& settings, Node& node,
                                                   const Learner& learner,
                                                   const DecentralTerms& terms) {
  return std::make_unique<Hogwild>(settings, node, learner, terms);
}

}  // namespace shoal
