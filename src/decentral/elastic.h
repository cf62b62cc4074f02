// The settings of `--algorithm elastic`; the algorithm is in elastic.cc.
#pragma once

#include "decentral/parameters.h"

namespace shoal {

struct ElasticSettings {
  static constexpr std::string_view kName = "elastic";
  static constexpr std::string_view kHelp = "each model and a center are pulled towards each other";
  std::uint32_t local_steps = 10;
  std::uint32_t overlap_steps = 0;
  WorkerPace pace = WorkerPace::Sync;
  double alpha = kAuto;
  double center_rate = kAuto;
  bool adapt_alpha = false;
  static constexpr auto parameters() {
    return std::tuple{
        shoal::local_steps<ElasticSettings>(),
        shoal::overlap_steps<ElasticSettings>(),
        shoal::pace<ElasticSettings>(),
        shoal::alpha<ElasticSettings>(),
        Parameter{"center-rate", &ElasticSettings::center_rate,
                  "fraction of its distance to a model that the center moves; auto: as --alpha",
                  Limits{0, 1, true}},
        Parameter{
            "adapt-alpha", &ElasticSettings::adapt_alpha,
            "alpha grows while the loss of a worker does not fall, and shrinks while it does"}};
  }

  bool operator==(const ElasticSettings&) const = default;
};

std::unique_ptr<DecentralAlgorithm> make_algorithm(const ElasticSettings& settings, Node& node,
                                                   const Learner& learner,
                                                   const DecentralTerms& terms);

// The values for P workers.
double elastic_alpha(const ElasticSettings& settings, std::uint64_t workers);
double center_rate(const ElasticSettings& settings, std::uint64_t workers);
// ConfigError if this number of workers would move the center beyond their models.
void require_possible(const ElasticSettings& settings, std::uint64_t workers);

}  // namespace shoal
