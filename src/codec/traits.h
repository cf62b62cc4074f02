// Traits of encodings: callers ask for a property, never for a name.
//
// An encoding is a plain struct in a separate file, and is listed in encodings.h:
//
//   struct Topk {
//     static constexpr std::string_view kName = "topk";      // its text form: topk:RATIO
//     static constexpr std::string_view kHelp = "...";       // what is sent, a phrase
//     static constexpr EncodingExamples kExamples = {...};   // for --help, benchmarks, the swarm
//     double ratio = 0.01;
//     static constexpr auto parameters();                    // with their ranges (base/choice.h)
//     constexpr EncodingTraits traits() const;
//     std::unique_ptr<Codec> make(Width width) const;        // unless it has none
//     bool operator==(const Topk&) const = default;
//   };
//
// It may also have
//
//   make(width, feedback)   in place of make(width), where the codec depends on the residual
//   at_epoch(epoch)         the encoding of the same name that is used in that epoch
//
// Flags, tables, benchmarks, rules about recipes and draws of the swarm follow from that.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <tuple>

#include "base/choice.h"

namespace shoal {

class Codec;
enum class Width : std::uint8_t;  // base/wide.h

// The layers that are sent as factors of their gradients.
enum class FactorUse : std::uint8_t {
  None,
  Matrices,   // all fully connected layers
  WhereLess,  // those whose factors are shorter than their gradients
};

struct EncodingTraits {
  // Properties of decoded values.
  bool exact = false;         // the encoded values, bit for bit
  bool draws = false;         // depends on random numbers
  bool lists = false;         // a few elements with their positions
  bool leaves_zeros = false;  // zeros stay zero: kylix need not send them
  bool overshoots = false;    // may exceed an element, or change its sign, beyond rounding
  std::uint32_t hold = 1;     // consecutive steps that send the same positions
  double mix_rate = 1;        // the default mix rate of neighbours' models (decentral/neighbours.h)

  // The residual, and zstd. The reason for refusing the suffix; empty if it is allowed.
  bool needs_residual = false;  // implies +ef: without it many elements would never be sent
  std::string_view no_residual{};
  std::string_view no_zstd{};

  // Encodings that change whole steps, not only messages.
  std::uint32_t rank = 0;  // the rank of summed factors; 0: no factors are summed
  FactorUse factors = FactorUse::None;
  bool gathers_momentum = false;  // the encoder accumulates velocity (codec/dgc.h)
  bool chooses = false;           // chooses other encodings by cost, tensor by tensor
  std::string_view
      measured_as{};  // the encoding that calibration measures instead; empty: this one

  constexpr bool of_whole_steps() const {
    return rank > 0 || factors != FactorUse::None || gathers_momentum || chooses;
  }
};

// The turn of an encoding in the draws of the swarm's workloads; 0: not drawn, because no judge
// knows its effects. Turns keep what a seed draws: a new encoding takes a later one.
struct SwarmExample {
  std::string_view text{};   // for problems of a hundred parameters
  std::uint8_t sums = 0;     // of gradients in synchronous training
  std::uint8_t pushes = 0;   // to servers, which count samples
  std::uint8_t models = 0;   // the differences of models
  std::uint8_t streams = 0;  // gradients between models, in addition to `models`
  std::uint8_t pulls = 0;    // from servers, as the text for models
};

struct EncodingExamples {
  std::string_view usual;     // the first choice
  std::string_view bench{};   // for normal numbers, in `shoal bench codec`; empty: the usual one
  double bench_target = 0;    // GB/s that are required; 0: none
  std::string_view models{};  // for models, without residuals; empty: not for models
  bool candidate = false;     // `auto` may choose the usual one
  SwarmExample swarm{};
};

// Shared by several encodings.
inline constexpr Limits kRatios = {.least = 1e-6, .most = 1};
inline constexpr Limits kThresholds = {.least = 1e-30, .most = 1e30};
// About what was best in the experiments of Koloskova et al. 2019: 0.04 for one element of a
// hundred.
constexpr double mix_rate_of(double ratio) { return 4 * ratio < 1 ? 4 * ratio : 1; }

}  // namespace shoal
