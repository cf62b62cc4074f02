#include "replica/training_task.h"

#include <algorithm>

namespace shoal {

EpochCount epochs_of(const TrainingTask& task, std::uint64_t each) {
  if (task.epochs > 0) return {task.epochs, 0};
  const std::uint64_t samples = task.steps.value() * each;
  const std::uint64_t epochs = (samples + task.samples - 1) / task.samples;
  return {epochs, samples - (epochs - 1) * task.samples};
}

EpochCount epochs_in_steps(const TrainingTask& task, std::uint64_t each) {
  if (task.epochs > 0) return {task.epochs, 0};
  const std::uint64_t per_epoch = (task.samples + each - 1) / each;
  const std::uint64_t epochs = (task.steps.value() + per_epoch - 1) / per_epoch;
  const std::uint64_t last = task.steps.value() - (epochs - 1) * per_epoch;
  return {epochs, std::min(task.samples, last * each)};
}

}  // namespace shoal
