// The settings of `--algorithm learners`; the algorithm is in learners.cc.
#pragma once

#include "decentral/parameters.h"

namespace shoal {

inline constexpr std::uint32_t kLearnersMost = 16;  // per worker

struct LearnersSettings {
  static constexpr std::string_view kName = "learners";
  static constexpr std::string_view kHelp =
      "several models of a worker and a center are pulled towards each other";
  std::uint32_t local_steps = 10;
  std::uint32_t learners = 0;
  double alpha = kAuto;
  double block_momentum = 0;
  static constexpr auto parameters() {
    return std::tuple{shoal::local_steps<LearnersSettings>(),
                      Parameter{"learners", &LearnersSettings::learners,
                                "models per worker; 0: the number with the highest throughput; "
                                "with --algorithm hogwild, threads per worker; 0: one",
                                Limits{0, kLearnersMost}},
                      shoal::alpha<LearnersSettings>(), shoal::block_momentum<LearnersSettings>()};
  }

  bool operator==(const LearnersSettings&) const = default;
};

std::unique_ptr<DecentralAlgorithm> make_algorithm(const LearnersSettings& settings, Node& node,
                                                   const Learner& learner,
                                                   const DecentralTerms& terms);

}  // namespace shoal
