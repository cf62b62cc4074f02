// The settings of `--algorithm tree`; the algorithm is in tree.cc.
#pragma once

#include "decentral/parameters.h"

namespace shoal {

struct TreeSettings {
  static constexpr std::string_view kName = "tree";
  static constexpr std::string_view kHelp =
      "models are sent up and down a tree, and pull their receivers";
  std::uint32_t local_steps = 10;
  std::uint32_t local_steps_down = 0;
  WorkerPace pace = WorkerPace::Sync;
  double alpha = kAuto;
  static constexpr auto parameters() {
    return std::tuple{shoal::local_steps<TreeSettings>(),
                      Parameter{"local-steps-down", &TreeSettings::local_steps_down,
                                "steps between two models sent down the tree; 0: as --local-steps, "
                                "which applies upwards"},
                      shoal::pace<TreeSettings>(), shoal::alpha<TreeSettings>()};
  }

  bool operator==(const TreeSettings&) const = default;
};

std::unique_ptr<DecentralAlgorithm> make_algorithm(const TreeSettings& settings, Node& node,
                                                   const Learner& learner,
                                                   const DecentralTerms& terms);

}  // namespace shoal
