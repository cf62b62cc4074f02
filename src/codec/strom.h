// strom: theta or -theta for every element that reaches it. Strom, "Scalable distributed DNN
// training using commodity GPU cloud computing", Interspeech 2015. The residual is kept.
//
// The number of sent elements depends only on the gradients; expected() assumes one in a hundred.
#pragma once

#include "codec/traits.h"

namespace shoal {

struct Strom {
  static constexpr std::string_view kName = "strom";
  static constexpr std::string_view kHelp = "-theta or theta for elements that reach it";
  static constexpr EncodingExamples kExamples = {.usual = "strom:0.001",
                                                 .bench = "strom:2.5758",
                                                 .bench_target = 1.5,
                                                 .swarm = {.text = "strom:0.01", .streams = 1}};
  double theta = 0.001;

  static constexpr auto parameters() {
    return std::tuple{Parameter{"theta", &Strom::theta, "the threshold", kThresholds}};
  }
  constexpr EncodingTraits traits() const { return {.lists = true, .needs_residual = true}; }
  std::unique_ptr<Codec> make(Width width) const;
  bool operator==(const Strom&) const = default;
};

}  // namespace shoal
