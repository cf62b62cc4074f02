// What commands that compute with libtorch do before they begin: how it shall compute, and the
// learner.
#pragma once

#include <filesystem>
#include <optional>

#include "app/train_run.h"
#include "learner/torch_loader/torch_plugin.h"

namespace shoal {

// Where this program keeps what it found out about the machine; empty: nowhere.
std::filesystem::path cache_folder();

// Sets run.choice, as handed on, kept or probed. Before libtorch is loaded.
void choose_compute(TrainRun& run);
// Loads libtorch, if the model asks for it, and sets run.learner. What is returned outlives it.
std::optional<TorchPlugin> make_learner(TrainRun& run, const TorchLearnerOptions& options);

}  // namespace shoal
