// The settings of `--algorithm gossip`; the algorithm is in gossip.cc.
#pragma once

#include "decentral/parameters.h"

namespace shoal {

struct GossipSettings {
  static constexpr std::string_view kName = "gossip";
  static constexpr std::string_view kHelp =
      "a model is sent to another worker, which mixes it in by weight";
  WorkerPace pace = WorkerPace::Sync;
  Topology topology{};
  double probability = 0.1;
  static constexpr auto parameters() {
    return std::tuple{
        shoal::pace<GossipSettings>(), shoal::topology_parameter<GossipSettings>(),
        Parameter{"gossip", &GossipSettings::probability,
                  "probability that a worker sends its model after a step", Limits{0, 1}}};
  }

  bool operator==(const GossipSettings&) const = default;
};

std::unique_ptr<DecentralAlgorithm> make_algorithm(const GossipSettings& settings, Node& node,
                                                   const Learner& learner,
                                                   const DecentralTerms& terms);

}  // namespace shoal
