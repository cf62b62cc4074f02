// The scale s of terngrad (codec/terngrad.h), for workers that share one.
#pragma once

#include "base/wide.h"
#include "codec/codec.h"

namespace shoal {

// s of a piece. DataError for NaN and infinity.
float terngrad_scale(std::span<const float> values, Width width = widest());

// Encodes as the codec does, with a given s; larger elements become s. REQUIRES: s is finite and at
// least 0; `out` has the codec's bound.
std::size_t terngrad_encode(std::span<const float> values, float s, std::span<std::byte> out,
                            const DrawKey& key, Width width = widest());

}  // namespace shoal
