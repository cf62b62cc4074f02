// The settings of `--algorithm master`; the algorithm is in master.cc.
#pragma once

#include "decentral/parameters.h"

namespace shoal {

struct MasterSettings {
  static constexpr std::string_view kName = "master";
  static constexpr std::string_view kHelp =
      "each worker learns the mean of all models while it trains, and is pulled to it";
  std::uint32_t local_steps = 10;
  WorkerPace pace = WorkerPace::Sync;
  double penalty = 0;
  double extrapolate = 0;
  static constexpr auto parameters() {
    return std::tuple{
        shoal::local_steps<MasterSettings>(), shoal::pace<MasterSettings>(),
        Parameter{"penalty", &MasterSettings::penalty,
                  "weight, in the loss, of the squared distance to the last known mean model",
                  Limits{0, 10}},
        Parameter{"extrapolate", &MasterSettings::extrapolate,
                  "factor by which the last change of the mean model is extrapolated",
                  Limits{0, 1}}};
  }

  bool operator==(const MasterSettings&) const = default;
};

std::unique_ptr<DecentralAlgorithm> make_algorithm(const MasterSettings& settings, Node& node,
                                                   const Learner& learner,
                                                   const DecentralTerms& terms);

}  // namespace shoal
