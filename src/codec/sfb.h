// sfb: of fully connected layers the factors that their gradients are products of, activations and
// errors of the samples. Xie et al., "Lighter-communication distributed machine learning via
// sufficient factor broadcasting", UAI 2016, arXiv:1409.5705.
//
// The learner makes them (learner/learner.h), and synchronous training sends them
// (sync/sync_factors.cc): there is no codec.
#pragma once

#include "codec/traits.h"

namespace shoal {

struct Sfb {
  static constexpr std::string_view kName = "sfb";
  static constexpr std::string_view kHelp =
      "the factors whose product is the gradient of a fully connected layer";
  static constexpr EncodingExamples kExamples = {.usual = "sfb"};

  constexpr EncodingTraits traits() const {
    return {.no_residual = "factors have no error that +ef could add to the next gradient",
            .no_zstd = "factors are not compressed; omit +zstd",
            .factors = FactorUse::Matrices};
  }
  bool operator==(const Sfb&) const = default;
};

}  // namespace shoal
