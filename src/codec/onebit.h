// onebit: a sign for each element, and for each block of 512 the mean of those with either sign.
// Seide, Fu, Droppo, Li, Yu, "1-bit stochastic gradient descent and its application to
// data-parallel distributed training of speech DNNs", Interspeech 2014.
//
// Written: for each block the two means, then the signs: 1.125 bits an element. Makes sense with
// error feedback only; without, small elements next to large ones are overstated in every step.
// Deviation: the paper has its means by columns of a matrix, here they are by blocks.
#pragma once

#include "codec/traits.h"

namespace shoal {

struct Onebit {
  static constexpr std::string_view kName = "onebit";
  static constexpr std::string_view kHelp = "its sign";
  static constexpr EncodingExamples kExamples = {
      .usual = "onebit+ef",
      .bench_target = 4,
      .candidate = true,
      .swarm = {.text = "onebit+ef", .sums = 4, .pushes = 4, .models = 4}};

  constexpr EncodingTraits traits() const { return {.overshoots = true, .mix_rate = 0.4}; }
  std::unique_ptr<Codec> make(Width width) const;
  bool operator==(const Onebit&) const = default;
};

}  // namespace shoal
