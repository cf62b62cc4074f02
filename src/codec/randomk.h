// randomk: a random element of each of k equal parts. Konečný et al., "Federated learning:
// strategies for improving communication efficiency", 2016, arXiv:1610.05492 (random mask); with
// error feedback: Stich, Cordonnier, Jaggi, NeurIPS 2018.
//
// Written: where the draws begin (8 bytes), then k values. Places follow from the draws, so equal
// keys choose equal places, and encoded forms can be added up as they are: let the key know the
// step and the piece, not the worker. Values are multiplied by the size of their part, which makes
// the mean of what is decoded what was encoded; with error feedback they are sent as they are,
// since what is multiplied by n/k and subtracted again would grow without end. What is too large
// for a float then becomes the largest.
// Places may be held for some steps: the encoder then keeps the key (encoded/encoder.h), and lists
// need no places on their way (encoded/kylix.h). The step size must be small enough for that: with
// error feedback an element waits about hold / ratio steps and comes with all of them at once,
// without it what is multiplied is so for all steps that it is held.
// Deviation: one of each part instead of k of all, which has the same mean, and less variance.
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
