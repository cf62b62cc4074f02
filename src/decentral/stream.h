// The settings of `--algorithm stream`; the algorithm is in stream.cc.
#pragma once

#include "decentral/parameters.h"

namespace shoal {

struct StreamSettings {
  static constexpr std::string_view kName = "stream";
  static constexpr std::string_view kHelp =
      "gradients are sent to other workers, which may miss some";
  static constexpr bool kEncodes = true;
  WorkerPace pace = WorkerPace::Sync;
  Topology topology = topology::Complete{};
  double drop_probability = 0;
  static constexpr auto parameters() {
    return std::tuple{
        shoal::pace<StreamSettings>(),
        Parameter{"topology", &StreamSettings::topology,
                  "graph of the workers whose models may meet"},
        Parameter{"drop-probability", &StreamSettings::drop_probability,
                  "probability that a gradient to another worker is lost", Limits{0, 1}}};
  }

  bool operator==(const StreamSettings&) const = default;
};

std::unique_ptr<DecentralAlgorithm> make_algorithm(const StreamSettings& settings, Node& node,
                                                   const Learner& learner,
                                                   const DecentralTerms& terms);

}  // namespace shoal
