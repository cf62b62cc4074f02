// int8: a byte an element, in steps of the largest magnitude / 127, rounded to the nearest.
//
// Written: the step, then a byte an element. No error exceeds half a step.
#pragma once

#include "codec/traits.h"

namespace shoal {

struct Int8 {
  static constexpr std::string_view kName = "int8";
  static constexpr std::string_view kHelp = "a byte, in steps of the largest magnitude / 127";
  static constexpr EncodingExamples kExamples = {
      .usual = "int8", .models = "int8", .swarm = {.text = "int8", .sums = 8, .models = 5}};

  constexpr EncodingTraits traits() const { return {.leaves_zeros = true}; }
  std::unique_ptr<Codec> make(Width width) const;
  bool operator==(const Int8&) const = default;
};

}  // namespace shoal
