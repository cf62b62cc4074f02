// The prediction of a training run: some steps of its recipe, simulated with the costs calibrated
// for its model, workers and links. Timing only; takes a fraction of a second.
#pragma once

#include <string>

#include "app/calibration.h"
#include "app/train_run.h"

namespace shoal {

// The calibration that a run asks for. REQUIRES: the run has its plan and its choice.
CalibrationKey key_of(const TrainRun& run);

// Throws Error where the simulator cannot tell: what, and why.
Prediction predict(const TrainPlan& plan, const Calibration& calibration, Bytes bucket_bytes);

// "predicted 12.3 ms a step, 6.65 MB sent in each"
std::string describe(const Prediction& prediction);

}  // namespace shoal
