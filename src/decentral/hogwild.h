// The settings of `--algorithm hogwild`; the algorithm is in hogwild.cc.
#pragma once

#include "decentral/parameters.h"

namespace shoal {

struct HogwildSettings {
  static constexpr std::string_view kName = "hogwild";
  static constexpr std::string_view kHelp =
      "the threads of a worker share a model without locks; the models of workers are averaged";
  std::uint32_t local_steps = 10;
  std::uint32_t overlap_steps = 0;
  std::uint32_t learners = 0;
  static constexpr auto parameters() {
    return std::tuple{shoal::local_steps<HogwildSettings>(),
                      shoal::overlap_steps<HogwildSettings>(),
                      Parameter{"learners", &HogwildSettings::learners,
                                "threads per worker; 0: one", Limits{0, 16}}};
  }

  bool operator==(const HogwildSettings&) const = default;
};

std::unique_ptr<DecentralAlgorithm> make_algorithm(const HogwildSettings& settings, Node& node,
                                                   const Learner& learner,
                                                   const DecentralTerms& terms);

}  // namespace shoal
