// terngrad: -s, 0 or s, where the chance of not being 0 is |g| / s. Wen et al., "TernGrad: ternary
// gradients to reduce communication in distributed deep learning", NeurIPS 2017, arXiv:1705.07878.
//
// The piece is clipped at 2.5 standard deviations first; s is its largest magnitude then. Written:
// s and 2 bits an element. The mean of what is decoded is the clipped piece. Where all workers are
// to use one s, they exchange terngrad_scale and take the largest (scale sharing of the paper).
// Deviation: deviations are from 0, not from the mean, which would clip equal elements to nothing.
#pragma once

#include "base/wide.h"
#include "codec/codec.h"

namespace shoal {

// s of a piece. DataError for NaN and infinity.
float terngrad_scale(std::span<const float> values, Width width = widest());

// As the codec encodes, with an s from outside; elements beyond it become s. REQUIRES: s is finite
// and at least 0; `out` has the codec's bound.
std::size_t terngrad_encode(std::span<const float> values, float s, std::span<std::byte> out,
                            const DrawKey& key, Width width = widest());

}  // namespace shoal
