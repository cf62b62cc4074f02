// The settings of `--algorithm neighbours`; the algorithm is in neighbours.cc.
#pragma once

#include "codec/encoding.h"
#include "decentral/parameters.h"

namespace shoal {

struct NeighboursSettings {
  static constexpr std::string_view kName = "neighbours";
  static constexpr std::string_view kHelp =
      "each model is replaced by the mean with its neighbours, in every worker at once";
  static constexpr bool kEncodes = true;
  std::uint32_t local_steps = 10;
  Topology topology{};
  double mix_rate = kAuto;
  static constexpr auto parameters() {
    return std::tuple{shoal::local_steps<NeighboursSettings>(),
                      shoal::topology_parameter<NeighboursSettings>(),
                      Parameter{"mix-rate", &NeighboursSettings::mix_rate,
                                "fraction of the distance to its neighbours' mean that a model "
                                "moves, if models are encoded; auto: by the encoding",
                                Limits{0, 1, true}}};
  }

  bool operator==(const NeighboursSettings&) const = default;
};

std::unique_ptr<DecentralAlgorithm> make_algorithm(const NeighboursSettings& settings, Node& node,
                                                   const Learner& learner,
                                                   const DecentralTerms& terms);

// The mix rate for models in this encoding.
double mix_rate(const NeighboursSettings& settings, const Encoding& encoding);
// The algorithm with encoded models.
std::unique_ptr<DecentralAlgorithm> make_encoded_neighbours(const NeighboursSettings& settings,
                                                            Node& node, const Learner& learner,
                                                            const DecentralTerms& terms);

}  // namespace shoal
