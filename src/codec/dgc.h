// dgc: Deep Gradient Compression, the steps around the choice of the largest elements. Lin, Han,
// Mao, Wang, Dally, "Deep gradient compression: reducing the communication bandwidth for
// distributed training", ICLR 2018, arXiv:1712.01887. The choice itself is that of topk
// (codec/topk.cc).
//
// The caller keeps u and v, as long as the gradient, for each worker. A step:
//
//   clip(g, dgc_clip(norm(g), threshold, workers))
//   dgc_gather(u, v, g, mu);                         (codec/dgc_step.h)
//   codec.encode_with_residual({v, g}, v, out, key);  the largest of v are sent, and zero in v
//   dgc_forget(codec, out, u);                       and in u: momentum factor masking
//
// The update that all make of the sum is plain SGD: momentum is in v already. A tensor that goes
// whole keeps its u, as in the authors' program: that is momentum SGD.
//
// Deviation: nothing is forgotten in warm-up. Masking is to stop momentum that is late, but takes
// it from what is not, too: the gradient of an element that is sent every T steps counts not
// 1/(1 - mu) times, as in momentum SGD, but (1 - mu^j)/(1 - mu) in the mean of j = 1..T; with
// mu = 0.9 not 10 but 2.3 times at T = 4, 5.4 at 16, and once where it is sent in every step. Over
// the paper's 4 of 90 epochs and more that is a gentle start; over 4 of 5 it is another step size.
#pragma once

#include "codec/traits.h"

namespace shoal {

struct Dgc {
  static constexpr std::string_view kName = "dgc";
  static constexpr std::string_view kHelp = "the largest elements of accumulated momentum";
  static constexpr EncodingExamples kExamples = {.usual = "dgc:0.001", .bench_target = 1.5};
  double ratio = 0.001;

  static constexpr auto parameters() {
    return std::tuple{
        Parameter{"ratio", &Dgc::ratio, "the fraction of elements that is sent", kRatios}};
  }
  constexpr EncodingTraits traits() const {
    return {.lists = true,
            .mix_rate = mix_rate_of(ratio),
            .no_residual = "dgc keeps unsent elements in its sums of momentum; omit +ef",
            .gathers_momentum = true};
  }
  Dgc at_epoch(double epoch) const;  // with the part that is sent in warm-up
  // That of topk: the choice and the form of what is sent.
  std::unique_ptr<Codec> make(Width width) const;
  bool operator==(const Dgc&) const = default;
};

}  // namespace shoal
