// The settings of `--algorithm block`; the algorithm is in block.cc.
#pragma once

#include "decentral/parameters.h"

namespace shoal {

struct BlockSettings {
  static constexpr std::string_view kName = "block";
  static constexpr std::string_view kHelp =
      "the change of the mean model is a step of an outer optimizer";
  static constexpr bool kEncodes = true;
  static constexpr bool kSumsModels = true;
  std::uint32_t local_steps = 10;
  std::uint32_t overlap_steps = 0;
  double block_momentum = 0;
  double block_rate = 1;
  bool block_nesterov = false;
  static constexpr auto parameters() {
    return std::tuple{shoal::local_steps<BlockSettings>(), shoal::overlap_steps<BlockSettings>(),
                      shoal::block_momentum<BlockSettings>(),
                      Parameter{"block-rate", &BlockSettings::block_rate,
                                "learning rate of the outer optimizer", Limits{0, 10}},
                      Parameter{"block-nesterov", &BlockSettings::block_nesterov,
                                "Nesterov momentum in the outer optimizer"}};
  }

  bool operator==(const BlockSettings&) const = default;
};

std::unique_ptr<DecentralAlgorithm> make_algorithm(const BlockSettings& settings, Node& node,
                                                   const Learner& learner,
                                                   const DecentralTerms& terms);

}  // namespace shoal
