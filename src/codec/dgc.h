// dgc: what Deep Gradient Compression does around the choice of the largest. Lin, Han, Mao, Wang,
// Dally, "Deep gradient compression: reducing the communication bandwidth for distributed
// training", ICLR 2018, arXiv:1712.01887. The choice itself is that of topk (codec/topk.cc).
//
// The caller keeps u and v, as long as the gradient, for each worker. A step:
//
//   clip(g, dgc_clip(norm(g), threshold, workers))
//   dgc_gather(u, v, g, mu);
//   codec.encode_with_rest({v, g}, v, out, key);       // the largest of v are sent, and zero in v
//   dgc_forget(codec, out, u);                         // and in u: momentum factor masking
//
// The update that all make of the sum is plain SGD: momentum is in v already. A tensor that goes
// whole keeps its u, as in the authors' program: that is momentum SGD.
//
// Deviation: nothing is forgotten in warm-up. Masking is to stop momentum that is late, but takes
// it from what is not, too: the gradient of an element that is sent every T steps counts not
// 1/(1 - mu) times, as in momentum SGD, but (1 - mu^j)/(1 - mu) in the mean of j = 1..T; with
// mu = 0.9 not 10 but 2.3 times at T = 4, 5.4 at 16, and once where it is sent in every step. Over
// the paper's 4 of 90 epochs and more that is a gentle start; over 4 of 5 it is another step size.
#pragma once

#include "base/wide.h"
#include "codec/codec.h"

namespace shoal {

// u = mu u + g; v += u. REQUIRES: equal sizes; they do not overlap.
void dgc_gather(std::span<float> u, std::span<float> v, std::span<const float> g, float mu,
                Width width = widest());

// u = 0 wherever `in` sends something. REQUIRES: the codec is sparse.
void dgc_forget(const Codec& codec, std::span<const std::byte> in, std::span<float> u);

// What a worker's gradient is multiplied by, so that the sum of all has a norm of about `threshold`
// at most: each may have threshold / sqrt(workers). REQUIRES: threshold > 0.
double dgc_clip(double norm, double threshold, std::uint64_t workers);

// The part that is sent in an epoch, counted from 0, on the way to `ratio`: 0.25, 0.0625, 0.0156,
// 0.0039 in four epochs of warm-up, never less than `ratio`.
double dgc_ratio(std::uint64_t epoch, double ratio);

}  // namespace shoal
