// Prepares commands that compute with libtorch: the way of computing, and the learner.
#pragma once

#include <filesystem>
#include <optional>

#include "app/train_run.h"
#include "learner/torch_loader/torch_plugin.h"

namespace shoal {

// The folder for this program's knowledge about the machine; empty: none.
std::filesystem::path cache_folder();

// Sets run.choice: handed over, cached or probed. Call it before libtorch is loaded.
void choose_compute(TrainRun& run);
// Loads libtorch, if the model needs it, and sets run.learner. The returned plugin must outlive the
// learner.
std::optional<TorchPlugin> make_learner(TrainRun& run, const TorchLearnerOptions& options);

}  // namespace shoal
