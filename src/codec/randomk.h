// randomk: a random element of each of k equal parts. Konečný et al., "Federated learning:
// strategies for improving communication efficiency", 2016, arXiv:1610.05492 (random mask); with
// error feedback: Stich, Cordonnier, Jaggi, NeurIPS 2018.
//
// Written: the start of the draws (8 bytes), then k values. Positions follow from the draws, so
// equal keys choose equal positions, and encoded forms can be summed without decoding: make the key
// from the step and the piece, not from the worker. Values are multiplied by the size of their
// part, so that decoded values have the encoded ones as their mean; with error feedback they are
// not multiplied, because a residual from which n/k times the value is subtracted would grow
// without bound. Products too large for a float become the largest float.
// Positions may be held for some steps: the encoder then keeps the key (encoded/encoder.h), and
// lists need no positions in their messages (encoded/kylix.h). The step size must be small enough
// for that: with error feedback an element waits about hold / ratio steps and is then sent with the
// sum of all; without it, an element is multiplied in all steps in which it is held.
// Deviation: one element of each part instead of k of all, with the same mean and less variance.
#pragma once

#include "codec/traits.h"

namespace shoal {

struct Randomk {
  static constexpr std::string_view kName = "randomk";
  static constexpr std::string_view kHelp = "the values of random elements";
  static constexpr EncodingExamples kExamples = {.usual = "randomk:0.01",
                                                 .swarm = {.text = "randomk:1", .sums = 3}};
  double ratio = 0.01;
  std::uint32_t hold = 1;

  static constexpr auto parameters() {
    return std::tuple{
        Parameter{"ratio", &Randomk::ratio, "the fraction of elements that is sent", kRatios},
        Parameter{"hold",
                  &Randomk::hold,
                  "steps that send the same positions",
                  {.least = 1},
                  Print::IfSet}};
  }
  constexpr EncodingTraits traits() const {
    return {.draws = true,
            .lists = true,
            .overshoots = true,
            .hold = hold,
            .mix_rate = mix_rate_of(ratio)};
  }
  std::unique_ptr<Codec> make(Width width, bool feedback) const;
  bool operator==(const Randomk&) const = default;
};

}  // namespace shoal
