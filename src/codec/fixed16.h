// fixed16: fixed point of 16 bits, IL before the binary point (including the sign) and FL = 16 - IL
// after it, rounded at random. Gupta, Agrawal, Gopalakrishnan, Narayanan, "Deep learning with
// limited numerical precision", ICML 2015, arXiv:1502.02551.
//
// Written: 2 bytes an element. From -2^(IL-1) to 2^(IL-1) - 2^-FL the mean error is 0, and no error
// reaches 2^-FL; values outside become the nearest end.
#pragma once

#include "codec/traits.h"

namespace shoal {

struct Fixed16 {
  static constexpr std::string_view kName = "fixed16";
  static constexpr std::string_view kHelp = "16 bits, some of them before the binary point";
  static constexpr EncodingExamples kExamples = {.usual = "fixed16:4", .bench_target = 0.5};
  std::uint32_t bits = 4;

  static constexpr auto parameters() {
    return std::tuple{
        Parameter{"bits", &Fixed16::bits, "bits before the point, the sign included", {1, 15}}};
  }
  constexpr EncodingTraits traits() const { return {.draws = true, .overshoots = true}; }
  std::unique_ptr<Codec> make(Width width) const;
  bool operator==(const Fixed16&) const = default;
};

}  // namespace shoal
