// poseidon: factors as with sfb, of those layers whose factors are less to send than their
// gradients. Zhang et al., "Poseidon", USENIX ATC 2017, arXiv:1706.03292. The rule:
// poseidon_broadcasts (sync/sync_step.h).
#pragma once

#include "codec/traits.h"

namespace shoal {

struct Poseidon {
  static constexpr std::string_view kName = "poseidon";
  static constexpr std::string_view kHelp =
      "per layer, the smaller of these factors and the gradient";
  static constexpr EncodingExamples kExamples = {.usual = "poseidon"};

  constexpr EncodingTraits traits() const {
    return {.no_residual = "factors have no error that +ef could add to the next gradient",
            .no_zstd = "factors are not compressed; omit +zstd",
            .factors = FactorUse::WhereLess};
  }
  bool operator==(const Poseidon&) const = default;
};

}  // namespace shoal
