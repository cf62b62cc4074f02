// The settings of `--algorithm pairs`; the algorithm is in pairs.cc.
#pragma once

#include "decentral/parameters.h"

namespace shoal {

struct PairsSettings {
  static constexpr std::string_view kName = "pairs";
  static constexpr std::string_view kHelp =
      "two models are replaced by their mean when one of the two workers has finished a step";
  std::uint32_t local_steps = 10;
  WorkerPace pace = WorkerPace::Sync;
  Topology topology{};
  static constexpr auto parameters() {
    return std::tuple{shoal::local_steps<PairsSettings>(), shoal::pace<PairsSettings>(),
                      shoal::topology_parameter<PairsSettings>()};
  }

  bool operator==(const PairsSettings&) const = default;
};

std::unique_ptr<DecentralAlgorithm> make_algorithm(const PairsSettings& settings, Node& node,
                                                   const Learner& learner,
                                                   const DecentralTerms& terms);

}  // namespace shoal
