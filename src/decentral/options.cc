#include "decentral/options.h"

namespace shoal {

Combine combine_of(const AlgorithmChoice& choice) {
  const auto* const independent = std::get_if<IndependentSettings>(&choice);
  return independent == nullptr ? Combine::None : independent->combine;
}

bool draws_samples(const AlgorithmChoice& choice) {
  const auto* const independent = std::get_if<IndependentSettings>(&choice);
  return independent != nullptr && independent->bagging;
}

void require_valid(const AlgorithmChoice& choice, std::uint64_t workers) {
  std::visit(
      [&](const auto& settings) {
        if constexpr (requires { settings.topology; }) require_possible(settings.topology, workers);
        if constexpr (requires { require_possible(settings, workers); })
          require_possible(settings, workers);
      },
      choice);
}

}  // namespace shoal
