// auto: for each tensor the encoding that pays on the link, or none, as measured
// (encoded/choice.h).
#pragma once

#include "codec/traits.h"

namespace shoal {

struct AutoEncoding {
  static constexpr std::string_view kName = "auto";
  static constexpr std::string_view kHelp = "what pays on the link";
  static constexpr EncodingExamples kExamples = {.usual = "auto",
                                                 .swarm = {.text = "auto", .sums = 7}};

  constexpr EncodingTraits traits() const {
    return {.no_residual = "auto decides itself whether a residual is kept; leave +ef out",
            .no_zstd = "auto decides itself whether bytes are compressed; leave +zstd out",
            .chooses = true,
            .measured_as = "onebit+ef"};  // the most expensive that it may choose
  }
  bool operator==(const AutoEncoding&) const = default;
};

}  // namespace shoal
