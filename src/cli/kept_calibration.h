// Calibrations as files, and the cache of them for this machine.
#pragma once

#include <filesystem>
#include <optional>

#include "app/calibration.h"
#include "app/train_run.h"

namespace shoal {

// Throws DataError.
void write_calibration(const Calibration& calibration, const std::filesystem::path& file);

// The cached file for this key; empty: there is no cache.
std::filesystem::path calibration_file(const CalibrationKey& key);

// Predicts the run from its cached calibration. If there is none and probing is allowed, makes one
// first, which takes a few seconds once. Empty: the reason is printed. REQUIRES: the run has its
// plan and its choice.
std::optional<Prediction> prediction_for(const TrainRun& run);

}  // namespace shoal
