// fp16 (IEEE 754 binary16) and bf16 (the upper half of a float), rounded to the nearest, ties to
// even: 2 bytes an element.
//
// The relative error is at most 2^-11 and 2^-8 in the normal range; fp16 has steps of 2^-24 below
// 2^-14. What is too large for the format becomes its largest number, 65504 or 3.3895e38, and not
// infinity, which would spread through the sum; error feedback keeps the difference.
#pragma once

#include "codec/traits.h"

namespace shoal {

struct Fp16 {
  static constexpr std::string_view kName = "fp16";
  static constexpr std::string_view kHelp = "16 bits: 5 of the exponent, 10 of the fraction";
  static constexpr EncodingExamples kExamples = {
      .usual = "fp16",
      .bench_target = 4,
      .models = "fp16",
      .candidate = true,
      .swarm = {.text = "fp16", .sums = 5, .pushes = 2, .models = 2, .pulls = 2}};

  constexpr EncodingTraits traits() const { return {.leaves_zeros = true}; }
  std::unique_ptr<Codec> make(Width width) const;
  bool operator==(const Fp16&) const = default;
};

struct Bf16 {
  static constexpr std::string_view kName = "bf16";
  static constexpr std::string_view kHelp =
      "its upper 16 bits: 8 of the exponent, 7 of the fraction";
  static constexpr EncodingExamples kExamples = {
      .usual = "bf16", .bench_target = 4, .models = "bf16"};

  constexpr EncodingTraits traits() const { return {.leaves_zeros = true}; }
  std::unique_ptr<Codec> make(Width width) const;
  bool operator==(const Bf16&) const = default;
};

}  // namespace shoal
