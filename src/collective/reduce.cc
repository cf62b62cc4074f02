#include "collective/reduce.h"

#include <algorithm>

namespace shoal {
namespace {

constexpr std::uint64_t kSlice = 1U << 20U;       // elements: about a millisecond
constexpr std::uint64_t kStreamFrom = 1U << 20U;  // elements: what follows finds it in no cache

}  // namespace

Task<void> sum_up(Env& env, Range out, std::uint64_t count, std::vector<const float*> terms) {
  const std::uint64_t adds = count - 1;
  const std::span<float> whole = out.data();
  const bool in_place = std::ranges::find(terms, whole.data()) != terms.end();
  const Store store = whole.size() >= kStreamFrom && !in_place ? Store::Streamed : Store::Cached;
  for (std::uint64_t at = 0; at < out.n.value(); at += kSlice) {
    const std::uint64_t n = std::min(kSlice, out.n.value() - at);
    co_await env.work(Work::Reduce, Elements(n * adds), [&] {
      if (whole.empty()) return;  // a phantom
      sum(whole.subspan(at, n), terms, store);
      for (const float*& term : terms) term += n;
    });
  }
}

}  // namespace shoal
