// Calibrations as files, and those that are kept for this machine.
#pragma once

#include <filesystem>
#include <optional>

#include "app/calibration.h"
#include "app/train_run.h"

namespace shoal {

// Throws DataError.
void write_calibration(const Calibration& calibration, const std::filesystem::path& file);

// Where the one for this key is kept; empty: nowhere.
std::filesystem::path calibration_file(const CalibrationKey& key);

// What the run will take, by the calibration that is kept for it; where there is none, and it may
// be probed, one is made first, which takes a few seconds once. Nothing: why is told to the user.
// REQUIRES: the run has its plan and its choice.
std::optional<Prediction> prediction_for(const TrainRun& run);

}  // namespace shoal
