// The settings of `--algorithm master`; the algorithm is in master.cc.
#pragma once

#include "decentral/parameters.h"

namespace shoal {

struct MasterSettings {
  static constexpr std::string_view kName = "master";
  static constexpr std::string_view kHelp =
      "each model gets the mean of all while it trains, and is drawn to it";
  std::uint32_t local_steps = 10;
  WorkerPace pace = WorkerPace::Sync;
  double penalty = 0;
  double extrapolate = 0;
  static constexpr auto parameters() {
    return std::tuple{
        shoal::local_steps<MasterSettings>(), shoal::pace<MasterSettings>(),
        Parameter{"penalty", &MasterSettings::penalty,
                  "weight in the cost of the squared distance to the last known mean of all models",
                  Limits{0, 10}},
        Parameter{
            "extrapolate", &MasterSettings::extrapolate,
            "part of its last step by which the mean of all models is thought to have moved on",
            Limits{0, 1}}};
  }

  bool operator==(const MasterSettings&) const = default;
};

std::unique_ptr<DecentralAlgorithm> make_algorithm(const MasterSettings& settings, Node& node,
                                                   const Learner& learner,
                                                   const DecentralTerms& terms);

}  // namespace shoal
