// qsgd: one of `levels` levels of the norm, rounded at random. Alistarh, Grubic, Li, Tomioka,
// Vojnovic, "QSGD: communication-efficient SGD via gradient quantization and encoding", NeurIPS
// 2017, arXiv:1610.02132.
//
// Norms are of blocks of 512 elements (the paper's buckets). Decoded values have the encoded ones
// as their mean; their variance is at most min(m / s^2, sqrt(m) / s) norm^2 for m elements and s
// levels.
//   qsgd:S         for each block the norm, then sign and level in 2, 4, 8 or 16 bits (qsgd.cc)
//   qsgd:S:elias   the norm, then for each level above 0 the gap, the sign and the level, gap and
//                  level as recursive codes of Elias, omega (qsgd_elias.cc): smaller where most
//                  levels are 0, and slower
// Deviation: a norm beyond 3.4e38 counts as that.
#pragma once

#include <cstddef>
#include <cstdint>

#include "codec/traits.h"

namespace shoal {

class Draws;

inline constexpr std::uint32_t kQsgdLevelsMost = 32767;
// The error of a block of 512 is at most sqrt(512) / levels of its norm, squared: from here on less
// than all of it.
inline constexpr std::uint32_t kQsgdLevelsWithResidual = 23;
inline constexpr double kQsgdNormMost = 3.4e38;

struct Qsgd {
  static constexpr std::string_view kName = "qsgd";
  static constexpr std::string_view kHelp =
      "one of N levels of the norm of 512 elements, rounded at random";
  static constexpr EncodingExamples kExamples = {
      .usual = "qsgd:4", .bench_target = 0.5, .models = "qsgd:256", .swarm = {.pulls = 3}};
  std::uint32_t levels = 4;
  bool elias = false;

  static constexpr auto parameters() {
    return std::tuple{
        Parameter{"levels", &Qsgd::levels, "levels above 0", {1, kQsgdLevelsMost}},
        Parameter{"elias", &Qsgd::elias, "Elias codes in place of a fixed number of bits"}};
  }
  constexpr EncodingTraits traits() const {
    static_assert(kQsgdLevelsWithResidual == 23);
    return {
        .draws = true,
        .overshoots = true,
        .no_residual =
            levels >= kQsgdLevelsWithResidual
                ? std::string_view()
                : "with fewer than 23 levels the error of qsgd may exceed its input, so that the "
                  "residual of +ef would grow without bound. Its mean error is 0 without +ef"};
  }
  std::unique_ptr<Codec> make(Width width) const;
  bool operator==(const Qsgd&) const = default;
};

// The codec with codes of Elias; qsgd_elias.cc.
std::unique_ptr<Codec> make_qsgd_elias(std::uint32_t levels, Width width);

// Shared by both forms: computes the levels of a block that begins at position `at`, level << 1 |
// sign; returns the norm. REQUIRES: m <= 512; all are finite.
float qsgd_levels(const float* x, std::size_t m, std::uint32_t levels, const Draws& draws,
                  std::size_t at, Width width, std::uint32_t* codes);
// sum += the elements, where a level is `unit`.
void qsgd_add(const std::uint32_t* codes, std::size_t m, float unit, Width width, float* sum);

}  // namespace shoal
