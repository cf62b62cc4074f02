#include "codec/dgc.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "codec/dgc_step.h"
#include "codec/topk.h"

namespace shoal {

void dgc_gather(std::span<float> u, std::span<float> v, std::span<const float> g, float mu,
                Width width) {
  SHOAL_CHECK_EQ(u.size(), g.size());
  SHOAL_CHECK_EQ(v.size(), g.size());
  float* const momentum = u.data();
  float* const sum = v.data();
  const float* const gradient = g.data();
  run_wide(width, g.size(), [=](std::size_t n) SHOAL_INLINE {
    for (std::size_t i = 0; i < n; ++i) {
      momentum[i] = mu * momentum[i] + gradient[i];
      sum[i] += momentum[i];
    }
  });
}

void dgc_forget(const Codec& codec, std::span<const std::byte> in, std::span<float> u) {
  SparseList sent;
  codec.decode_list(in, u.size(), sent);
  for (const std::uint32_t place : sent.at) u[place] = 0;
}

double dgc_clip(double norm, double threshold, std::uint64_t workers) {
  SHOAL_CHECK_GT(threshold, 0.0);
  const double most = threshold / std::sqrt(static_cast<double>(workers));
  return norm > most ? most / norm : 1;
}

double dgc_ratio(std::uint64_t epoch, double ratio) {
  constexpr std::uint64_t kWarmup = 4;
  if (epoch >= kWarmup) return ratio;
  return std::max(ratio, std::pow(0.25, static_cast<double>(epoch + 1)));
}

Dgc Dgc::at_epoch(double epoch) const {
  return {.ratio = dgc_ratio(static_cast<std::uint64_t>(std::max(0.0, epoch)), ratio)};
}

std::unique_ptr<Codec> Dgc::make(Width width) const { return Topk{.ratio = ratio}.make(width); }

}  // namespace shoal
