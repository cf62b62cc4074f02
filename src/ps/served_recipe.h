// Served: the recipe of training through parameter servers, a setting a field. A new setting is a
// field here, or of ParameterServerOptions, and a row in served_recipe.cc.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/choice.h"
#include "encoded/encode.h"
#include "learner/normalization.h"
#include "ps/options.h"
#include "replica/training_task.h"

namespace shoal {

struct Served {
  static constexpr std::string_view kName = "servers";
  ParameterServerOptions ps{};
  // Above 0: an update is the sum of this number of logical shards, in a fixed order. Only in
  // synchronous training.
  std::uint32_t shards = 0;
  BatchNorm batch_norm{};
  Encode encode{};  // pushed gradients

  bool operator==(const Served&) const = default;
};

std::vector<Setting> settings_of(Served& recipe);

// Servers, each with a part of the parameters, when none is missing.
std::uint64_t servers_of(const Served& recipe, std::uint64_t workers);
// Samples of an update, when nobody is missing, and all are equally fast.
std::uint64_t samples_per_update(const Served& recipe, const TrainingTask& task);
EpochCount length_of(const Served& recipe, const TrainingTask& task);

}  // namespace shoal
