// What an encoding says about itself, so that all others ask for a property and never for a name.
//
// An encoding is a plain struct in a file of its own, and stands in the list of encodings.h:
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

// Which layers are sent as the factors that their gradients are products of.
enum class FactorUse : std::uint8_t {
  None,
  Matrices,   // all fully connected layers
  WhereLess,  // those whose factors are shorter than their gradients
};

struct EncodingTraits {
  // What decoding gives back.
  bool exact = false;         // every number as it was
  bool draws = false;         // depends on random numbers
  bool lists = false;         // a few elements, each with its place
  bool leaves_zeros = false;  // zeros where there were zeros: kylix need not send them
  bool overshoots = false;    // more than an element was, or the other sign, beyond rounding
  std::uint32_t hold = 1;     // steps in a row that send the same places
  double mix_rate = 1;        // how far neighbours' models may move by it (decentral/neighbours.h)

  // The residual, and zstd. A reason says why the suffix is refused; it is empty where it is not.
  bool needs_residual = false;  // +ef is understood: without it much would never be sent
  std::string_view no_residual{};
  std::string_view no_zstd{};

  // Ways in which whole steps go: more than a form of a message.
  std::uint32_t rank = 0;  // sums are those of factors of this rank; 0: they are not
  FactorUse factors = FactorUse::None;
  bool gathers_momentum = false;   // the encoder accumulates velocity (codec/dgc.h)
  bool chooses = false;            // others are chosen, tensor by tensor, by what they cost
  std::string_view measured_as{};  // what calibration measures in its place; empty: itself

  constexpr bool of_whole_steps() const {
    return rank > 0 || factors != FactorUse::None || gathers_momentum || chooses;
  }
};

// The turn of an encoding in the draws of the swarm's workloads; 0: it is not drawn, since a judge
// does not know what it may do. Turns keep what a seed draws: a new encoding takes a later one.
struct SwarmExample {
  std::string_view text{};   // for problems of a hundred parameters
  std::uint8_t sums = 0;     // of gradients in synchronous training
  std::uint8_t pushes = 0;   // to servers, which count samples
  std::uint8_t models = 0;   // the differences of models
  std::uint8_t streams = 0;  // of gradients between models, beside those of models
  std::uint8_t pulls = 0;    // from servers, as the text for models
};

struct EncodingExamples {
  std::string_view usual;     // what to try first
  std::string_view bench{};   // for normal numbers, in `shoal bench codec`; empty: the usual one
  double bench_target = 0;    // GB/s that are required; 0: none
  std::string_view models{};  // for models, whose losses nobody keeps; empty: not for them
  bool candidate = false;     // `auto` may choose the usual one
  SwarmExample swarm{};
};

// What several have in common.
inline constexpr Limits kRatios = {.least = 1e-6, .most = 1};
inline constexpr Limits kThresholds = {.least = 1e-30, .most = 1e30};
// About what was best in the experiments of Koloskova et al. 2019: 0.04 for one element of a
// hundred.
constexpr double mix_rate_of(double ratio) { return 4 * ratio < 1 ? 4 * ratio : 1; }

}  // namespace shoal
