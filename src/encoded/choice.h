// Does it pay? Which encoding a gradient gets, by what links, adding up and codecs were measured to
// take.
//
//   plain     the cheapest all-reduce of 4n bytes (collective/cost.h)
//   encoded   once + n (encode + P decode) + what the form sends of c n bytes:
//             P = 2: alpha + c n beta; more: 2 alpha + 2 (P-1)/P c n beta
//
// The smallest wins, tensor by tensor; plain wins where it is as good. All candidates keep what
// they leave out, or round to half precision: none of them costs accuracy (docs/encodings.md).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "codec/encoding.h"
#include "collective/cost.h"
#include "collective/dissemination.h"
#include "runtime/task.h"

namespace shoal {

struct CodecSpeed {
  Encoding encoding{};
  double encode = 0;  // seconds an element
  double decode = 0;
  double once = 0;  // seconds a tensor, however short: to find a threshold, say
};

// For a gradient of n elements, as they are on the slowest member: what fits into a cache is faster
// than what does not. Takes some tens of milliseconds at most, and one operation.
Task<std::vector<CodecSpeed>> measure_codecs(const Group& group, Gathering& gathering, Elements n,
                                             std::uint64_t operation);

struct EncodingCosts {
  CostModel links{};
  GroupShape shape{};
  std::vector<CodecSpeed> codecs{};
};

// Seconds for n elements.
double predict_plain(const EncodingCosts& costs, Elements n);
double predict_encoded(const EncodingCosts& costs, const CodecSpeed& codec, Elements n);

// Of a tensor of n elements; Encoding() is plain. Pure, so that members with the same numbers
// choose alike.
Encoding choose_encoding(const EncodingCosts& costs, Elements n);
// For each piece; all plain where that takes hardly longer in sum: who encodes a bias gives up what
// makes plain sums fast.
inline constexpr double kWorthwhile = 0.9;
std::vector<Encoding> choose_encodings(const EncodingCosts& costs, std::span<const Cut> pieces);
// The choice for all pieces, as a sentence with the numbers that it is made of.
std::string explain(const EncodingCosts& costs, std::span<const Cut> pieces);

}  // namespace shoal
