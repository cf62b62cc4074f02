// adacomp: the elements of each bin that would reach its largest if the latest gradient were added
// again: |e + 2 g| >= max |e + g|. Chen et al., "AdaComp: adaptive residual gradient compression
// for data-parallel distributed training", AAAI 2018, arXiv:1712.02679. The residual is kept.
//
// Sent are the signs of e + g, and the mean of the bins' largest elements as their magnitude. The
// number of sent elements adapts to the gradients; expected() assumes five per bin.
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
