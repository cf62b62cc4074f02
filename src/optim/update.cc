#include "optim/update.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "optim/loops.h"
#include "runtime/slices.h"

namespace shoal {

namespace {

bool adapts(const Rule& rule) { return rule.kind == RuleKind::Lars || rule.kind == RuleKind::Lamb; }

std::size_t tensors(const UpdateTarget& shard) {
  return std::max<std::size_t>(1, shard.segments.size());
}

// values[0] is the sum of squares of g. For rules that adapt, tensor l has two more: those of w,
// and of g (LARS) or of the direction (LAMB).
std::size_t size_of_sums(const Rule& rule, const UpdateTarget& shard) {
  return 1 + (adapts(rule) ? 2 * tensors(shard) : 0);
}

Elements stride_of(const UpdateTarget& shard) {
  return shard.stride == Elements(0) ? shard.w.n : shard.stride;
}

void check(const Rule& rule, const UpdateStep& step, const UpdateTarget& shard) {
  SHOAL_CHECK_EQ(shard.w.n, shard.g.n);
  const unsigned k = slots(rule);
  if (k > 0) SHOAL_CHECK_EQ(shard.slots.n, stride_of(shard) * (k - 1) + shard.w.n);
  if (shard.before_w.arena != nullptr) {
    SHOAL_CHECK_EQ(shard.before_w.n, shard.w.n);
    if (k > 0) SHOAL_CHECK_EQ(shard.before_slots.n, shard.slots.n);
  }
  SHOAL_CHECK_GE(step.t, 1U);
  SHOAL_CHECK_GT(step.samples, 0);
  if (shard.terms.size() > 1)
    SHOAL_CHECK_EQ(rounds(rule), 0U, "norms of a gradient that was not summed");
  if (!shard.w.data().empty()) {
    SHOAL_CHECK_EQ(shard.g.data().size(), shard.w.data().size(), "a phantom gradient");
    SHOAL_CHECK_EQ(shard.slots.data().size(), shard.slots.n.value(), "phantom slots");
  }
  if (shard.segments.empty()) return;
  Elements end{};
  for (const Segment& segment : shard.segments) {
    SHOAL_CHECK_EQ(segment.at, end, "segments are adjacent");
    end += segment.n;
  }
  SHOAL_CHECK_LE(shard.at + shard.w.n, end, "the shard is longer than its segments");
}

Piece piece_of(const Rule& rule, const UpdateTarget& shard, const Range& w, const Range& slot_range,
               std::size_t from, std::size_t to) {
  Piece piece{
      .w = w.data().data() + from, .g = shard.g.data().data() + from, .slot = {}, .n = to - from};
  for (unsigned s = 0; s < slots(rule); ++s)
    piece.slot[s] = slot_range.data().data() + s * stride_of(shard).value() + from;
  return piece;
}

// The state before the step.
Piece before(const Rule& rule, const UpdateTarget& shard, std::size_t from, std::size_t to) {
  const bool elsewhere = shard.before_w.arena != nullptr;
  return piece_of(rule, shard, elsewhere ? shard.before_w : shard.w,
                  elsewhere ? shard.before_slots : shard.slots, from, to);
}

Piece after(const Rule& rule, const UpdateTarget& shard, std::size_t from, std::size_t to) {
  return piece_of(rule, shard, shard.w, shard.slots, from, to);
}

void copy_state(const Rule& rule, const Piece& from, const Piece& to) {
  if (to.w != from.w) std::memcpy(to.w, from.w, from.n * sizeof(float));
  for (unsigned s = 0; s < slots(rule); ++s)
    if (to.slot[s] != from.slot[s]) std::memcpy(to.slot[s], from.slot[s], from.n * sizeof(float));
}

// Makes a step of the piece's w and slots. All terms of a gradient except the last are summed block
// by block; a block is still in the nearest cache when the rule's loop, which adds the last term,
// reaches it. A state in other memory is read by the loop; only for a rule of the user it is copied
// first, in blocks too.
void apply_piece(const Rule& rule, const Terms& terms, const UpdateTarget& shard, std::size_t from,
                 std::size_t to, Width width) {
  const bool elsewhere = shard.before_w.arena != nullptr;
  const std::size_t K = shard.terms.size();
  constexpr std::size_t kBlock = 1024;
  const FusedPass* const fused = shard.fused;
  const bool copied = elsewhere && rule.own != nullptr;
  const std::size_t block = copied || K > 2 || fused != nullptr ? kBlock : to - from;
  std::array<float, kBlock> sum;
  for (std::size_t at = from; at < to; at += block) {
    const std::size_t end = std::min(to, at + block);
    Piece now = after(rule, shard, at, end);
    const Piece was = before(rule, shard, at, end);
    if (copied) copy_state(rule, was, now);
    now.from_w = was.w;
    now.from_slot = {was.slot[0], was.slot[1]};
    if (fused != nullptr && fused->before) fused->before(at, end);
    if (K > 0) now.g = shard.terms[0] + at;
    if (K > 1) now.more = shard.terms[K - 1] + at;
    if (K > 2) {
      add_up(shard.terms.first(K - 1), at, end - at, sum.data(), width);
      now.g = sum.data();
    }
    apply_rule(rule, terms, now, width);
    if (fused != nullptr && fused->after) fused->after(at, end);
  }
}

// Calls f(from, to, tensor) for the parts of [from, to) that lie in one tensor each.
template <class F>
void for_tensors(const UpdateTarget& shard, std::size_t from, std::size_t to, const F& f) {
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

// The factor of the summed gradient: 1/B, and less if it is longer than clip_norm, as in
// torch::nn::utils::clip_grad_norm_.
double scale_of(const Rule& rule, const UpdateStep& step, const Sums& total) {
  const double mean = 1 / step.samples;
  if (rule.clip_norm == 0) return mean;
  const double norm = std::sqrt(total.values[0]) * mean;
  const double by = rule.clip_norm / (norm + 1e-6);
  return by < 1 ? by * mean : mean;
}

Terms terms_of(const Rule& rule, const UpdateStep& step, const UpdateTarget& shard, double scale,
               std::size_t tensor) {
  const bool decay = shard.segments.empty() || shard.segments[tensor].decay;
  return {.eta = step.eta,
          .t = step.t,
          .scale = scale,
          .decay = decay ? rule.weight_decay : 0,
          .ratio = 1};
}

double ratio_of(const Rule& rule, const Terms& terms, const UpdateTarget& shard, const Sums& total,
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
  // LARS gets the norm of the whole gradient from those of the tensors; LAMB needs the clipping
  // factor before it knows its direction.
  if (rule.kind == RuleKind::Lars) return 1;
  return (rule.clip_norm > 0 ? 1 : 0) + (rule.kind == RuleKind::Lamb ? 1 : 0);
}

Task<Sums> measure(Env& env, const Rule& rule, UpdateStep step, UpdateTarget shard, unsigned round,
                   const Sums& so_far) {
  check(rule, step, shard);
  SHOAL_CHECK_LT(round, rounds(rule));
  Sums sums;
  sums.values.resize(size_of_sums(rule, shard));
  const bool last = round + 1 == rounds(rule);
  const Width width = widest();
  SliceWork slice;
  if (rule.kind == RuleKind::Lamb && last) {
    const double scale = scale_of(rule, step, so_far);
    slice = [&, scale, width](std::size_t slice_from, std::size_t slice_to) {
      for_tensors(shard, slice_from, slice_to,
                  [&](std::size_t from, std::size_t to, std::size_t tensor) {
                    const Terms terms = terms_of(rule, step, shard, scale, tensor);
                    const Piece piece = before(rule, shard, from, to);
                    const Squares of = measure_lamb(rule, terms, piece, width);
                    sums.values[1 + 2 * tensor] += of.first;
                    sums.values[2 + 2 * tensor] += of.second;
                  });
    };
  } else if (rule.kind == RuleKind::Lars) {
    slice = [&, width](std::size_t slice_from, std::size_t slice_to) {
      for_tensors(shard, slice_from, slice_to,
                  [&](std::size_t from, std::size_t to, std::size_t tensor) {
                    const Piece piece = before(rule, shard, from, to);
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
  co_await in_slices(env, Work::Update, shard.w.n.value(), shard.w.data().empty(), Order::Forward,
                     1, slice);
  co_return sums;
}

Task<void> apply(Env& env, const Rule& rule, UpdateStep step, UpdateTarget shard,
                 const Sums& total) {
  check(rule, step, shard);
  if (rounds(rule) > 0) SHOAL_CHECK_EQ(total.values.size(), size_of_sums(rule, shard));
  const double scale = scale_of(rule, step, total);
  const Width width = widest();
  const SliceWork slice = [&, scale, width](std::size_t slice_from, std::size_t slice_to) {
    for_tensors(shard, slice_from, slice_to,
                [&](std::size_t from, std::size_t to, std::size_t tensor) {
                  Terms terms = terms_of(rule, step, shard, scale, tensor);
                  terms.ratio = ratio_of(rule, terms, shard, total, tensor);
                  apply_piece(rule, terms, shard, from, to, width);
                });
  };
  // The last measured part is still in the cache.
  const Order order = rounds(rule) > 0 ? Order::Backward : Order::Forward;
  // Memory bandwidth limits the speed: each term is one more array to read.
  const double arrays = 3 + 2 * slots(rule);
  double more = shard.terms.empty() ? 0 : static_cast<double>(shard.terms.size() - 1);
  if (shard.fused != nullptr) more += shard.fused->arrays;
  co_await in_slices(env, Work::Update, shard.w.n.value(), shard.w.data().empty(), order,
                     1 + more / arrays, slice, shard.aside);
}

Task<void> update(Env& env, const Rule& rule, UpdateStep step, UpdateTarget shard) {
  FusedPass rest;
  if (shard.fused != nullptr && shard.fused->before && rounds(rule) > 0) {
    co_await in_slices(env, Work::Update, shard.w.n.value(), shard.w.data().empty(), Order::Forward,
                       1, shard.fused->before);
    rest.after = shard.fused->after;
    shard.fused = &rest;
  }
  Sums total;
  for (unsigned round = 0; round < rounds(rule); ++round) {
    const Sums sums = co_await measure(env, rule, step, shard, round, total);
    total += sums;
  }
  co_await apply(env, rule, step, shard, total);
}

}  // namespace shoal
