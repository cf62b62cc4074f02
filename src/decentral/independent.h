// The settings of `--algorithm independent`; the algorithm is in average.cc, as averaging that
// never happens, and the ensemble in ensemble.cc.
#pragma once

#include "decentral/parameters.h"

namespace shoal {

enum class Combine : std::uint8_t { None, Mean, Vote };
inline constexpr auto kCombineNames =
    names<Combine>({{Combine::None, "none"}, {Combine::Mean, "mean"}, {Combine::Vote, "vote"}});
constexpr const auto& enum_names(Combine) { return kCombineNames; }

struct IndependentSettings {
  static constexpr std::string_view kName = "independent";
  static constexpr std::string_view kHelp = "models never meet before the end";
  WorkerPace pace = WorkerPace::Sync;
  Combine combine = Combine::None;
  bool bagging = false;
  static constexpr auto parameters() {
    return std::tuple{
        shoal::pace<IndependentSettings>(),
        Parameter{
            "combine", &IndependentSettings::combine,
            "how the predictions of all models are combined; none: the result is the mean model"},
        Parameter{"bagging", &IndependentSettings::bagging,
                  "each worker draws its samples with replacement"}};
  }

  bool operator==(const IndependentSettings&) const = default;
};

std::unique_ptr<DecentralAlgorithm> make_algorithm(const IndependentSettings& settings, Node& node,
                                                   const Learner& learner,
                                                   const DecentralTerms& terms);

}  // namespace shoal
