// The settings of `--algorithm average`; the algorithm is in average.cc.
#pragma once

#include "decentral/parameters.h"

namespace shoal {

struct AverageSettings {
  static constexpr std::string_view kName = "average";
  static constexpr std::string_view kHelp = "all models are replaced by their mean";
  static constexpr bool kEncodes = true;
  static constexpr bool kSumsModels = true;
  std::uint32_t local_steps = 10;
  std::uint32_t overlap_steps = 0;
  static constexpr auto parameters() {
    return std::tuple{shoal::local_steps<AverageSettings>(),
                      shoal::overlap_steps<AverageSettings>()};
  }

  bool operator==(const AverageSettings&) const = default;
};

std::unique_ptr<DecentralAlgorithm> make_algorithm(const AverageSettings& settings, Node& node,
                                                   const Learner& learner,
                                                   const DecentralTerms& terms);

}  // namespace shoal
