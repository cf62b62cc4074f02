#include "optim/update.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "optim/loops.h"
#include "runtime/task_group.h"

namespace shoal {

namespace {

// 256 KiB of each array: a slice takes a tenth of a millisecond, so that messages and heartbeats
// get their turn between two where the loop's own thread does the work.
constexpr std::size_t kSliceElements = 65536;
constexpr std::size_t kSlicesUnderWay = 64;

using SliceWork = std::function<void(std::size_t from, std::size_t to)>;

enum class Order : std::uint8_t { Forward, Backward };

Task<void> some_slices(Env& env, std::size_t n, Order order, std::size_t first, std::size_t stride,
                       const SliceWork& work) {
  const std::size_t slices = (n + kSliceElements - 1) / kSliceElements;
  for (std::size_t i = first; i < slices; i += stride) {
    const std::size_t at = (order == Order::Forward ? i : slices - 1 - i) * kSliceElements;
    const std::size_t end = std::min(n, at + kSliceElements);
    const auto slice = [&] { work(at, end); };
    co_await env.work(Work::Update, Elements(end - at), slice);
  }
}

// Many slices are under way at once, so that a compute thread has its next ones even while the loop
// cannot hand them out. An Env runs what it is given one after the other and in order, so that
// slices never overlap, and sums come out the same.
Task<void> in_slices(Env& env, const Range& w, Order order, const SliceWork& work) {
  const std::size_t n = w.n.value();
  if (w.data().empty()) {
    co_await env.work(Work::Update, w.n, [] {});  // a phantom only takes its time
  } else if (n <= kSliceElements) {
    co_await some_slices(env, n, order, 0, 1, work);
  } else {
    const Context context = co_await current();
    TaskGroup group(context);
    for (std::size_t first = 0; first < kSlicesUnderWay; ++first)
      group.spawn(some_slices(env, n, order, first, kSlicesUnderWay, work));
    co_await group.join();
  }
}

bool adapts(const Rule& rule) { return rule.kind == RuleKind::Lars || rule.kind == RuleKind::Lamb; }

std::size_t tensors(const Shard& shard) { return std::max<std::size_t>(1, shard.segments.size()); }

// values[0] is the sum of squares of g; of the rules that adapt, tensor l has two more: those of w,
// and of g (LARS) or of the direction (LAMB).
std::size_t size_of_sums(const Rule& rule, const Shard& shard) {
  return 1 + (adapts(rule) ? 2 * tensors(shard) : 0);
}

void check(const Rule& rule, const UpdateStep& step, const Shard& shard) {
  SHOAL_CHECK_EQ(shard.w.n, shard.g.n);
  SHOAL_CHECK_EQ(shard.slots.n, shard.w.n * slots(rule));
  SHOAL_CHECK_GE(step.t, 1U);
  SHOAL_CHECK_GT(step.samples, 0);
  if (!shard.w.data().empty()) {
    SHOAL_CHECK_EQ(shard.g.data().size(), shard.w.data().size(), "a phantom gradient");
    SHOAL_CHECK_EQ(shard.slots.data().size(), shard.slots.n.value(), "phantom slots");
  }
  if (shard.segments.empty()) return;
  Elements end{};
  for (const Segment& segment : shard.segments) {
    SHOAL_CHECK_EQ(segment.at, end, "segments lie end to end");
    end += segment.n;
  }
  SHOAL_CHECK_LE(shard.at + shard.w.n, end, "the shard is longer than its segments");
}

Piece piece_of(const Rule& rule, const Shard& shard, std::size_t from, std::size_t to) {
  Piece piece{.w = shard.w.data().data() + from,
              .g = shard.g.data().data() + from,
              .slot = {},
              .n = to - from};
  for (unsigned s = 0; s < slots(rule); ++s)
    piece.slot[s] = shard.slots.data().data() + s * shard.w.n.value() + from;
  return piece;
}

// The parts of [from, to) that lie in one tensor each: f(from, to, tensor).
template <class F>
void for_tensors(const Shard& shard, std::size_t from, std::size_t to, const F& f) {
  if (shard.segments.empty()) return f(from, to, std::size_t{0});
  const std::uint64_t base = shard.at.value();
  const auto begins_after = [](std::uint64_t at, const Segment& s) { return at < s.at.value(); };
  const auto next =
      std::upper_bound(shard.segments.begin(), shard.segments.end(), base + from, begins_after);
  auto tensor = static_cast<std::size_t>(next - shard.segments.begin()) - 1;
  while (from < to) {
    const Segment& segment = shard.segments[tensor];
    const std::uint64_t end = std::min(to, (segment.at + segment.n).value() - base);
    if (end > from) f(from, end, tensor);
    from = end;
    ++tensor;
  }
}

// What the summed gradient is multiplied by: 1/B, and where it is longer than clip_norm, as
// torch::nn::utils::clip_grad_norm_ shortens it.
double scale_of(const Rule& rule, const UpdateStep& step, const Sums& total) {
  const double mean = 1 / step.samples;
  if (rule.clip_norm == 0) return mean;
  const double norm = std::sqrt(total.values[0]) * mean;
  const double by = rule.clip_norm / (norm + 1e-6);
  return by < 1 ? by * mean : mean;
}

Terms terms_of(const Rule& rule, const UpdateStep& step, const Shard& shard, double scale,
               std::size_t tensor) {
  const bool decay = shard.segments.empty() || shard.segments[tensor].decay;
  return {.eta = step.eta,
          .t = step.t,
          .scale = scale,
          .decay = decay ? rule.weight_decay : 0,
          .ratio = 1};
}

double ratio_of(const Rule& rule, const Terms& terms, const Shard& shard, const Sums& total,
                std::size_t tensor) {
  if (!adapts(rule) || (!shard.segments.empty() && !shard.segments[tensor].adapt)) return 1;
  const double w_norm = std::sqrt(total.values[1 + 2 * tensor]);
  const double norm = std::sqrt(total.values[2 + 2 * tensor]);
  if (rule.kind == RuleKind::Lamb) return lamb_ratio(w_norm, norm);
  return lars_ratio(rule, terms.decay, w_norm, norm * terms.scale);
}

}  // namespace

Sums& Sums::operator+=(const Sums& other) {
  if (values.empty()) values.resize(other.values.size());
  if (other.values.empty()) return *this;
  SHOAL_CHECK_EQ(values.size(), other.values.size(), "sums of different rules");
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += other.values[i];
  return *this;
}

unsigned rounds(const Rule& rule) {
  // LARS learns the norm of the whole gradient from those of the tensors; LAMB cannot know its
  // direction before it knows how much the gradient is clipped.
  if (rule.kind == RuleKind::Lars) return 1;
  return (rule.clip_norm > 0 ? 1 : 0) + (rule.kind == RuleKind::Lamb ? 1 : 0);
}

Task<Sums> measure(Env& env, const Rule& rule, UpdateStep step, Shard shard, unsigned round,
                   const Sums& before) {
  check(rule, step, shard);
  SHOAL_CHECK_LT(round, rounds(rule));
  Sums sums;
  sums.values.resize(size_of_sums(rule, shard));
  const bool last = round + 1 == rounds(rule);
  const Width width = widest();
  SliceWork slice;
  if (rule.kind == RuleKind::Lamb && last) {
    const double scale = scale_of(rule, step, before);
    slice = [&, scale, width](std::size_t slice_from, std::size_t slice_to) {
      for_tensors(shard, slice_from, slice_to,
                  [&](std::size_t from, std::size_t to, std::size_t tensor) {
                    const Terms terms = terms_of(rule, step, shard, scale, tensor);
                    const Piece piece = piece_of(rule, shard, from, to);
                    const Squares of = measure_lamb(rule, terms, piece, width);
                    sums.values[1 + 2 * tensor] += of.first;
                    sums.values[2 + 2 * tensor] += of.second;
                  });
    };
  } else if (rule.kind == RuleKind::Lars) {
    slice = [&, width](std::size_t slice_from, std::size_t slice_to) {
      for_tensors(shard, slice_from, slice_to,
                  [&](std::size_t from, std::size_t to, std::size_t tensor) {
                    const Piece piece = piece_of(rule, shard, from, to);
                    const Squares of = squares_of(piece.w, piece.g, piece.n, width);
                    sums.values[0] += of.second;
                    sums.values[1 + 2 * tensor] += of.first;
                    sums.values[2 + 2 * tensor] += of.second;
                  });
    };
  } else {
    slice = [&, width](std::size_t from, std::size_t to) {
      sums.values[0] += squares_of(shard.g.data().data() + from, to - from, width);
    };
  }
  co_await in_slices(env, shard.w, Order::Forward, slice);
  co_return sums;
}

Task<void> apply(Env& env, const Rule& rule, UpdateStep step, Shard shard, const Sums& total) {
  check(rule, step, shard);
  if (rounds(rule) > 0) SHOAL_CHECK_EQ(total.values.size(), size_of_sums(rule, shard));
  const double scale = scale_of(rule, step, total);
  const Width width = widest();
  const SliceWork slice = [&, scale, width](std::size_t slice_from, std::size_t slice_to) {
    for_tensors(shard, slice_from, slice_to,
                [&](std::size_t from, std::size_t to, std::size_t tensor) {
                  Terms terms = terms_of(rule, step, shard, scale, tensor);
                  terms.ratio = ratio_of(rule, terms, shard, total, tensor);
                  apply_rule(rule, terms, piece_of(rule, shard, from, to), width);
                });
  };
  // What was measured last is still in the cache.
  const Order order = rounds(rule) > 0 ? Order::Backward : Order::Forward;
  co_await in_slices(env, shard.w, order, slice);
}

Task<void> update(Env& env, const Rule& rule, UpdateStep step, Shard shard) {
  Sums total;
  for (unsigned round = 0; round < rounds(rule); ++round) {
    const Sums sums = co_await measure(env, rule, step, shard, round, total);
    total += sums;
  }
  co_await apply(env, rule, step, shard, total);
}

}  // namespace shoal
