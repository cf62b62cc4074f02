// Encode: what gradients, or models, are on their way. A plain value: an encoding for all layers,
// and others for some.
//
//   topk:0.01+ef                     all layers alike
//   onebit+ef,conv*=fp32             all but the tensors whose names begin with "conv"
//   fc1=topk:0.01+ef,fc2=qsgd:4      "fc1" is fc1.weight and fc1.bias; all others go as they are
//
// Of several that fit a tensor the first one counts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codec/encoding.h"
#include "encoded/all_reduce.h"
#include "learner/learner.h"

namespace shoal {

struct LayerEncoding {
  std::string layer;  // a tensor, or the beginning of its name up to a point; or with * at its end
  Encoding as{};

  bool operator==(const LayerEncoding&) const = default;
};

struct Encode {
  Encoding as{};                       // Fp32: as they are
  EncodedForm by = EncodedForm::Auto;  // which way their sums go
  double after = 0;                    // epochs at the beginning in which they go as they are
  std::vector<LayerEncoding> layers = {};

  bool operator==(const Encode&) const = default;
};

// The text forms above set `as` and `layers`. ConfigError for anything else.
void parse_encode(std::string_view text, Encode& encode);
std::string encode_text(const Encode& encode);

inline bool encodes(const Encode& encode) {
  return encode.as != Encoding() || !encode.layers.empty();
}

// Whether the learner is asked for factors.
inline bool sends_factors(const Encode& encode) {
  return traits(encode.as).factors != FactorUse::None;
}

// Which way sums among P members go.
EncodedForm form_of(const Encode& encode, std::uint64_t P);

// Of each piece of a learner's parameters. ConfigError for a layer that it has not, with the
// nearest that it has.
std::vector<Encoding> encodings_of(const Encode& encode, const Learner& learner);

}  // namespace shoal
