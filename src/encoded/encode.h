// Encode: the encodings of gradients or models in messages, as a plain value: one for all layers,
// and others for some.
//
//   topk:0.01+ef                     all layers alike
//   onebit+ef,conv*=fp32             all except tensors whose names begin with "conv"
//   fc1=topk:0.01+ef,fc2=qsgd:4      "fc1" is fc1.weight and fc1.bias; others are not encoded
//
// If several match a tensor, the first one counts.
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
  Encoding as{};                       // Fp32: not encoded
  EncodedForm by = EncodedForm::Auto;  // the algorithm of their sums
  double after = 0;                    // epochs at the beginning without encoding
  std::vector<LayerEncoding> layers = {};

  bool operator==(const Encode&) const = default;
};

// The text forms above set `as` and `layers`. ConfigError for anything else.
void parse_encode(std::string_view text, Encode& encode);
std::string encode_text(const Encode& encode);

inline bool encodes(const Encode& encode) {
  return encode.as != Encoding() || !encode.layers.empty();
}

// Whether the learner must provide factors.
inline bool sends_factors(const Encode& encode) {
  return traits(encode.as).factors != FactorUse::None;
}

// The form of sums among P members.
EncodedForm form_of(const Encode& encode, std::uint64_t P);

// The encoding of each piece of a learner's parameters. ConfigError for an unknown layer, with the
// nearest name.
std::vector<Encoding> encodings_of(const Encode& encode, const Learner& learner);

}  // namespace shoal
