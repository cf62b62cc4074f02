#include "optim/sgd.h"

#include <cmath>

namespace shoal {

Task<void> update(Env& env, const Sgd& rule, Range w, Range g, std::uint64_t batch) {
  SHOAL_CHECK_EQ(w.n, g.n);
  const float scale = -rule.eta / static_cast<float>(batch);
  co_await env.work(Work::Update, w.n, [&] {
    const std::span<float> to = w.data();
    const std::span<const float> from = g.data();
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = std::fma(scale, from[i], to[i]);
  });
}

}  // namespace shoal
