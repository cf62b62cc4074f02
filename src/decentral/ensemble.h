// An ensemble: models that never meet, whose predictions are combined. Hansen & Salamon, "Neural
// Network Ensembles", IEEE TPAMI 12(10), 1990, doi:10.1109/34.58871; each trained on a sample of
// the data with replacement: Breiman, "Bagging Predictors", Machine Learning 24(2), 1996.
//
//   p(c | x) = mean over members i of p_i(c | x);   the answer is the c of the highest p
//   vote:      the c that most members answer; ties go to the highest p
//
// Symbols: P members, n samples held out, C classes.
// Cost of an evaluation: each member predicts all n, and all gather P n C probabilities.
// Deviations: members begin with the same parameters. An epoch counts the samples of all members
//   together: each draws a P-th of the number of samples.
// Invariant: the log loss of the mean is at most the mean of the members' (Jensen).
#pragma once

#include <cstdint>
#include <span>

#include "collective/dissemination.h"
#include "decentral/training_round.h"
#include "learner/learner.h"
#include "runtime/task.h"

namespace shoal {

// Adds the scores of combined predictions. `rows` holds the predictions of the first member, then
// those of the next; labels.size() x classes each.
void judge_together(Combine how, std::uint64_t members, std::uint64_t classes,
                    std::span<const float> rows, std::span<const std::int64_t> labels,
                    EnsembleScore& score);

// Evaluates the members' models, each with its own. Throws ConfigError for a learner that does not
// predict classes. `gathering` lives until the generation is retired.
Task<EnsembleScore> evaluate_together(ViewContext& context, Learner& learner, Range own,
                                      Combine how, Gathering& gathering);

}  // namespace shoal
