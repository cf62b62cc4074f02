// topk: the exact values of the k elements with the largest magnitudes. Aji & Heafield, "Sparse
// communication for distributed gradient descent", EMNLP 2017, doi:10.18653/v1/D17-1045; with error
// feedback: Stich, Cordonnier, Jaggi, "Sparsified SGD with memory", NeurIPS 2018.
//
// Written: k, the values, the gaps between their positions: 5 to 6 bytes per sent element. Sent
// values are exact, so they and the residual together are the input, bit for bit. Of equal
// magnitudes the first are sent; fewer than k if fewer are nonzero.
#pragma once

#include "codec/traits.h"

namespace shoal {

struct Topk {
  static constexpr std::string_view kName = "topk";
  static constexpr std::string_view kHelp = "the exact values of the largest elements";
  static constexpr EncodingExamples kExamples = {
      .usual = "topk:0.01+ef",
      .bench_target = 1.5,
      .candidate = true,
      .swarm = {.text = "topk:0.2+ef", .sums = 2, .pushes = 3, .models = 3}};
  double ratio = 0.01;

  static constexpr auto parameters() {
    return std::tuple{
        Parameter{"ratio", &Topk::ratio, "the fraction of elements that is sent", kRatios}};
  }
  constexpr EncodingTraits traits() const {
    return {.lists = true, .mix_rate = mix_rate_of(ratio)};
  }
  std::unique_ptr<Codec> make(Width width) const;
  bool operator==(const Topk&) const = default;
};

}  // namespace shoal
