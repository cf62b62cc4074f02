#include "collective/reduce.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace shoal {
namespace {

constexpr std::uint64_t kSlice = 1U << 20U;       // elements; takes about a millisecond
constexpr std::uint64_t kStreamFrom = 1U << 20U;  // elements; such a result stays in no cache

constexpr Elements kShort{1U << 12U};

}  // namespace

bool SumOp::take_in(ConstBuf payload) {
  const std::span<float> out = out_.data();
  const bool aligned = reinterpret_cast<std::uintptr_t>(payload.data) % alignof(float) == 0;
  const bool fits = !out.empty() && out_.n <= kShort && payload.size == out_.bytes().size;
  // Do not add to a range that another member still reads.
  const bool free = !overlap(mine_.bytes(), out_.bytes()) || last();
  if (!aligned || !fits || !free) return false;
  const std::array terms{static_cast<const float*>(mine_.data().data()),
                         reinterpret_cast<const float*>(payload.data)};
  sum(out, terms, WriteMode::Cached);
  return summed_ = true;
}

Task<void> sum_up(Env& env, Range out, std::uint64_t count, std::vector<const float*> terms) {
  const std::uint64_t adds = count - 1;
  const std::span<float> whole = out.data();
  const bool in_place = std::ranges::find(terms, whole.data()) != terms.end();
  const WriteMode mode =
      whole.size() >= kStreamFrom && !in_place ? WriteMode::Streamed : WriteMode::Cached;
  for (std::uint64_t at = 0; at < out.n.value(); at += kSlice) {
    const std::uint64_t n = std::min(kSlice, out.n.value() - at);
    co_await env.work(Work::Reduce, Elements(n * adds), [&] {
      if (whole.empty()) return;  // a phantom
      sum(whole.subspan(at, n), terms, mode);
      for (const float*& term : terms) term += n;
    });
  }
}

}  // namespace shoal
