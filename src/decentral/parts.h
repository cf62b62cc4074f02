// The settings of `--algorithm parts`; the algorithm is in parts.cc.
#pragma once

#include "decentral/parameters.h"

namespace shoal {

struct PartsSettings {
  static constexpr std::string_view kName = "parts";
  static constexpr std::string_view kHelp =
      "in each step, every other worker gets a different part of the gradient";
  WorkerPace pace = WorkerPace::Sync;
  std::uint32_t partitions = 0;
  static constexpr auto parameters() {
    return std::tuple{shoal::pace<PartsSettings>(),
                      Parameter{"partitions", &PartsSettings::partitions,
                                "parts of a gradient, one of which goes to each other worker per "
                                "step; 0: as many as other workers",
                                Limits{0, 256}}};
  }

  bool operator==(const PartsSettings&) const = default;
};

std::unique_ptr<DecentralAlgorithm> make_algorithm(const PartsSettings& settings, Node& node,
                                                   const Learner& learner,
                                                   const DecentralTerms& terms);

// The number of parts of a gradient, with this number of workers.
std::uint64_t gradient_parts(const PartsSettings& settings, std::uint64_t workers);

}  // namespace shoal
