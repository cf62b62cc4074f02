// twobit: -theta, 0 or theta, whichever the element reaches; the residual is kept. As in MXNet
// (Chen et al., "MXNet: a flexible and efficient machine learning library for heterogeneous
// distributed systems", 2015, arXiv:1512.01274; its gradient compression of 2017).
//
// Written: 2 bits an element. An element beyond theta sends theta; its residual is sent later.
#pragma once

#include "codec/traits.h"

namespace shoal {

struct Twobit {
  static constexpr std::string_view kName = "twobit";
  static constexpr std::string_view kHelp = "-theta, 0 or theta";
  static constexpr EncodingExamples kExamples = {.usual = "twobit:0.5",
                                                 .bench = "twobit:2",
                                                 .bench_target = 4,
                                                 .swarm = {.text = "twobit:2", .pushes = 5}};
  double theta = 0.5;

  static constexpr auto parameters() {
    return std::tuple{Parameter{"theta", &Twobit::theta, "the threshold", kThresholds}};
  }
  constexpr EncodingTraits traits() const { return {.needs_residual = true}; }
  std::unique_ptr<Codec> make(Width width) const;
  bool operator==(const Twobit&) const = default;
};

}  // namespace shoal
