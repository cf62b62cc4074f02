// The steps of dgc (codec/dgc.h) on u and v, which the caller keeps.
#pragma once

#include "base/wide.h"
#include "codec/codec.h"

namespace shoal {

// u = mu u + g; v += u. REQUIRES: equal sizes; they do not overlap.
void dgc_gather(std::span<float> u, std::span<float> v, std::span<const float> g, float mu,
                Width width = widest());

// u = 0 wherever `in` sends something. REQUIRES: the codec is sparse.
void dgc_forget(const Codec& codec, std::span<const std::byte> in, std::span<float> u);

// The factor that clips a worker's gradient, so that the sum of all has a norm of at most about
// `threshold`: each may have threshold / sqrt(workers). REQUIRES: threshold > 0.
double dgc_clip(double norm, double threshold, std::uint64_t workers);

// The part that is sent in an epoch, counted from 0, on the way to `ratio`: 0.25, 0.0625, 0.0156,
// 0.0039 in four epochs of warm-up, never less than `ratio`.
double dgc_ratio(std::uint64_t epoch, double ratio);

}  // namespace shoal
