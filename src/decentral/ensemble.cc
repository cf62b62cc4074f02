#include "decentral/ensemble.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace shoal {
namespace {

constexpr std::uint64_t kAtOnce = 512;  // samples
constexpr double kLeast = 1e-12;        // lower bound of a probability in a logarithm

// Adds one sample's score, from its predicted probabilities and answer.
void judge(std::span<const double> p, std::size_t answer, std::int64_t label, Score& score) {
  const auto right = static_cast<std::size_t>(label);
  score.loss -= std::log(std::max(p[right], kLeast));
  ++score.samples;
  ++score.predictions;
  if (answer == right) ++score.correct;
}

std::size_t highest(std::span<const double> p) {
  return static_cast<std::size_t>(std::ranges::max_element(p) - p.begin());
}

}  // namespace

void judge_together(Combine how, std::uint64_t members, std::uint64_t classes,
                    std::span<const float> rows, std::span<const std::int64_t> labels,
                    EnsembleScore& score) {
  std::vector<double> own(classes), mean(classes), votes(classes);
  for (std::size_t s = 0; s < labels.size(); ++s) {
    std::ranges::fill(mean, 0.0);
    std::ranges::fill(votes, 0.0);
    for (std::uint64_t m = 0; m < members; ++m) {
      const std::span<const float> row = rows.subspan((m * labels.size() + s) * classes, classes);
      std::ranges::copy(row, own.begin());
      judge(own, highest(own), labels[s], score.members);
      for (std::size_t c = 0; c < classes; ++c) mean[c] += own[c] / static_cast<double>(members);
      votes[highest(own)] += 1;
    }
    if (how == Combine::Mean) votes = mean;
    // Vote counts first; the probability breaks ties.
    if (how == Combine::Vote)
      for (std::size_t c = 0; c < classes; ++c) votes[c] += 0.5 * mean[c];
    judge(mean, highest(votes), labels[s], score.together);
  }
}

Task<EnsembleScore> evaluate_together(ViewContext& context, Learner& learner, Range own,
                                      Combine how, Gathering& gathering) {
  EnsembleScore score;
  Env& env = context.node.env;
  const std::uint64_t held_out = learner.held_out();
  for (std::uint64_t at = 0; at < held_out; at += kAtOnce) {
    const std::uint64_t to = std::min(at + kAtOnce, held_out);
    const Predictions predicted = co_await learner.predict(env, own, at, to);
    const std::span<const float> mine = predicted.rows;
    const std::vector<float> all =
        co_await gathering.of_all(context.group, mine, context.operations());
    co_await env.work(Work::Reduce, Elements(all.size()), [&] {
      judge_together(how, context.size(), predicted.classes, all, predicted.labels, score);
    });
  }
  co_return score;
}

}  // namespace shoal
