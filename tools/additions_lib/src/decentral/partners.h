// The settings of `--algorithm partners`; the algorithm is in partners.cc.
#pragma once

#include "decentral/parameters.h"

namespace shoal {

struct PartnersSettings {
  static constexpr std::string_view kName = "partners";
  static constexpr std::string_view kHelp = "two neighbouring ranks' models become their mean";
  std::uint32_t local_steps = 10;
  static constexpr auto parameters() { return std::tuple{shoal::local_steps<PartnersSettings>()}; }

  bool operator==(const PartnersSettings&) const = default;
};

std::unique_ptr<DecentralAlgorithm> make_algorithm(const PartnersSettings& settings, Node& node,
                                                   const Learner& learner,
                                                   const DecentralTerms& terms);

}  // namespace shoal
