// fp32: the unchanged numbers, as a codec like the others, so that callers need no special case.
#pragma once

#include "codec/traits.h"

namespace shoal {

struct Fp32 {
  static constexpr std::string_view kName = "fp32";
  static constexpr std::string_view kHelp = "all of it";
  static constexpr EncodingExamples kExamples = {
      .usual = "fp32",
      .models = "fp32",
      .swarm = {.text = "fp32+zstd", .sums = 1, .pushes = 1, .models = 1, .pulls = 1}};

  constexpr EncodingTraits traits() const {
    return {.exact = true,
            .no_residual = "fp32 has no error that +ef could add to the next gradient"};
  }
  std::unique_ptr<Codec> make(Width width) const;
  bool operator==(const Fp32&) const = default;
};

}  // namespace shoal
