// topk: the k elements that are largest in magnitude, as they are. Aji & Heafield, "Sparse
// communication for distributed gradient descent", EMNLP 2017, doi:10.18653/v1/D17-1045; with error
// feedback: Stich, Cordonnier, Jaggi, "Sparsified SGD with memory", NeurIPS 2018.
//
// Written: k, the values, the gaps between their places: 4 bytes and 1 to 2 an element sent. What
// is sent is exact, so sent and residual together are the values, bit for bit. Of equal magnitudes
// those that come first are sent; fewer than k where fewer are not zero.
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
