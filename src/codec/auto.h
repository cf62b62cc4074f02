// auto: for each tensor the encoding that pays on the link, or none, as measured
// (encoded/choice.h).
#pragma once

#include "codec/traits.h"

namespace shoal {

struct AutoEncoding {
  static constexpr std::string_view kName = "auto";
  static constexpr std::string_view kHelp = "the encoding, or none, that is fastest on the link";
  static constexpr EncodingExamples kExamples = {.usual = "auto",
                                                 .swarm = {.text = "auto", .sums = 7}};

  constexpr EncodingTraits traits() const {
    return {.no_residual = "auto decides whether a residual is kept; omit +ef",
            .no_zstd = "auto decides whether bytes are compressed; omit +zstd",
            .chooses = true,
            .measured_as = "onebit+ef"};  // the most expensive that it may choose
  }
  bool operator==(const AutoEncoding&) const = default;
};

}  // namespace shoal
