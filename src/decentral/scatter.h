// The settings of `--algorithm scatter`; the algorithm is in scatter.cc.
#pragma once

#include "decentral/parameters.h"

namespace shoal {

struct ScatterSettings {
  static constexpr std::string_view kName = "scatter";
  static constexpr std::string_view kHelp =
      "a model is sent to several workers, and each averages the models that it received";
  std::uint32_t local_steps = 10;
  WorkerPace pace = WorkerPace::Sync;
  Topology topology{};
  static constexpr auto parameters() {
    return std::tuple{shoal::local_steps<ScatterSettings>(), shoal::pace<ScatterSettings>(),
                      shoal::topology_parameter<ScatterSettings>()};
  }

  bool operator==(const ScatterSettings&) const = default;
};

std::unique_ptr<DecentralAlgorithm> make_algorithm(const ScatterSettings& settings, Node& node,
                                                   const Learner& learner,
                                                   const DecentralTerms& terms);

}  // namespace shoal
