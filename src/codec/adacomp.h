// adacomp: of each bin those elements that reach its largest once the latest gradient is added
// again: |e + 2 g| >= max |e + g|. Chen et al., "AdaComp: adaptive residual gradient compression
// for data-parallel distributed training", AAAI 2018, arXiv:1712.02679. The residual is kept.
//
// Sent is the sign of e + g, for the mean of the bins' largest. How many are sent adapts itself;
// expected() takes it for five of a bin.
#pragma once

#include "codec/traits.h"

namespace shoal {

struct Adacomp {
  static constexpr std::string_view kName = "adacomp";
  static constexpr std::string_view kHelp =
      "the sign of elements that would reach the largest of their bin with one more gradient";
  static constexpr EncodingExamples kExamples = {.usual = "adacomp:500"};
  std::uint32_t bin = 500;

  static constexpr auto parameters() {
    return std::tuple{Parameter{"bin", &Adacomp::bin, "elements of a bin", {2, 1e6}}};
  }
  constexpr EncodingTraits traits() const {
    return {.lists = true, .overshoots = true, .needs_residual = true};
  }
  std::unique_ptr<Codec> make(Width width) const;
  bool operator==(const Adacomp&) const = default;
};

}  // namespace shoal
