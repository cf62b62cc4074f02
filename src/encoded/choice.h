// The choice of encodings for `--encode auto`, by the measured costs of links, sums and codecs.
//
//   plain     the cheapest all-reduce of 4n bytes (collective/cost.h)
//   encoded   once + n (encode + P decode) + what the form sends of c n bytes:
//             P = 2: alpha + c n beta; more: 2 alpha + 2 (P-1)/P c n beta
//
// The smallest wins, tensor by tensor; plain wins a tie. All candidates keep a residual, or round
// to half precision: none of them costs accuracy (docs/encodings.md).
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

// The costs for a gradient of n elements on the slowest member: ranges that fit into a cache are
// faster. Takes some tens of milliseconds at most, and one operation.
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
// For each piece; all plain if that is hardly slower in total: encoding one bias excludes the
// fastest plain sums.
inline constexpr double kWorthwhile = 0.9;
std::vector<Encoding> choose_encodings(const EncodingCosts& costs, std::span<const Cut> pieces);
// The choice for all pieces, as a sentence with the numbers behind it.
std::string explain(const EncodingCosts& costs, std::span<const Cut> pieces);

}  // namespace shoal
