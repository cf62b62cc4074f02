// The curves, histograms and timelines of a contestant, from the steps and evaluations of its runs.
#pragma once

#include <optional>
#include <vector>

#include "report/comparison.h"

namespace shoal {

// Fills in loss, score, disagreement, staleness, time and excerpt.
void add_curves(Contestant& contestant, bool by_accuracy);

// The result of each evaluation of a run. A run with only a final result has one point.
std::vector<CurvePoint> test_curve(const FinishedRun& run, bool by_accuracy);

// Where a curve first reaches the target, by linear interpolation; the first point has none before
// it.
std::optional<CurvePoint> first_reached(const std::vector<CurvePoint>& curve, double target,
                                        bool upwards);

}  // namespace shoal
