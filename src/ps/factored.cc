#include "ps/factored.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.h"

namespace shoal {
namespace {

// Of a piece: how many elements, and of factors how many samples, elements left out, rows, columns.
constexpr std::size_t kHeadWords = 5;
constexpr std::size_t kHeadFloats = kHeadWords * sizeof(std::uint64_t) / sizeof(float);

void put_head(std::vector<float>& to, const std::array<std::uint64_t, kHeadWords>& head) {
  const std::size_t at = to.size();
  to.resize(at + kHeadFloats);
  std::memcpy(to.data() + at, head.data(), sizeof head);
}

}  // namespace

std::vector<float> pack(const ShardCut& cut, std::span<const float> g,
                        std::span<const Layer> layers) {
  const std::uint64_t begin = cut.at.value(), end = begin + cut.n.value();
  std::vector<float> packed;
  std::uint64_t at = begin;
  const auto as_it_is = [&](std::uint64_t to) {
    if (to == at) return;
    put_head(packed, {to - at, 0, 0, 0, 0});
    packed.insert(packed.end(), g.begin() + static_cast<std::ptrdiff_t>(at),
                  g.begin() + static_cast<std::ptrdiff_t>(to));
    at = to;
  };
  for (const Layer& layer : layers) {
    const Factors& f = layer.factors;
    const std::uint64_t columns = f.columns.value(), all_rows = f.rows.value();
    const std::uint64_t first = layer.at.value();
    const std::uint64_t from = std::max(begin, first);
    const std::uint64_t to = std::min(end, first + all_rows * columns);
    if (from >= to) continue;
    const std::uint64_t row = (from - first) / columns;
    const std::uint64_t rows = (to - first + columns - 1) / columns - row;
    const std::uint64_t batch = f.batch.value();
    if (batch == 0 || batch * (rows + columns) >= to - from) continue;
    as_it_is(from);
    put_head(packed, {to - from, batch, from - first - row * columns, rows, columns});
    for (std::uint64_t b = 0; b < batch; ++b) {
      const float* const errors = f.error.get() + b * all_rows + row;
      packed.insert(packed.end(), errors, errors + rows);
    }
    packed.insert(packed.end(), f.input.get(), f.input.get() + batch * columns);
    at = to;
  }
  as_it_is(end);
  return packed;
}

Elements packed_most(const ShardCut& cut, std::size_t layers) {
  return cut.n + Elements((2 * layers + 1) * kHeadFloats);
}

Packed::Packed(const ShardCut& cut, std::span<const float> words) {
  const auto take = [&](std::uint64_t n) {
    if (n > words.size()) throw Corrupt("a packed gradient ends too early");
    const std::span<const float> taken = words.first(n);
    words = words.subspan(n);
    return taken;
  };
  const std::uint64_t N = cut.n.value();
  std::uint64_t at = 0;
  while (at < N) {
    std::array<std::uint64_t, kHeadWords> head{};
    std::memcpy(head.data(), take(kHeadFloats).data(), sizeof head);
    Piece piece{at, head[0], head[1], head[2], head[3], head[4]};
    const bool fits = piece.n > 0 && piece.n <= N - at;
    const bool whole =
        piece.batch == 0 ||
        (std::max({piece.batch, piece.rows, piece.columns}) <= words.size() &&
         piece.skipped < piece.columns && piece.skipped + piece.n <= piece.rows * piece.columns);
    if (!fits || !whole)
      throw Corrupt(fmt::format("a packed gradient has a piece of {} at {} of {}", piece.n, at, N));
    piece.values = take(piece.batch == 0 ? piece.n : piece.batch * piece.rows);
    piece.inputs = take(piece.batch * piece.columns);
    at += piece.n;
    pieces_.push_back(piece);
  }
  if (!words.empty()) throw Corrupt("a packed gradient is too long");
}

void Packed::form(std::size_t from, std::size_t to, std::span<float> g) const {
  std::fill(g.begin() + static_cast<std::ptrdiff_t>(from),
            g.begin() + static_cast<std::ptrdiff_t>(to), 0.0F);
  add(from, to, g);
}

void Packed::add(std::size_t from, std::size_t to, std::span<float> g) const {
  for (const Piece& p : pieces_) {
    const std::uint64_t begin = std::max<std::uint64_t>(from, p.at);
    const std::uint64_t end = std::min<std::uint64_t>(to, p.at + p.n);
    if (begin >= end) continue;
    if (p.batch == 0) {
      for (std::uint64_t i = begin; i < end; ++i) g[i] += p.values[i - p.at];
      continue;
    }
    // Row by row, the part of it that is asked for.
    for (std::uint64_t i = begin; i < end;) {
      const std::uint64_t in_weight = i - p.at + p.skipped;
      const std::uint64_t row = in_weight / p.columns, column = in_weight % p.columns;
      const std::uint64_t n = std::min(end - i, p.columns - column);
      float* const out = g.data() + i;
      for (std::uint64_t b = 0; b < p.batch; ++b) {
        const float error = p.values[b * p.rows + row];
        const float* const input = p.inputs.data() + b * p.columns + column;
        for (std::uint64_t c = 0; c < n; ++c) out[c] += error * input[c];
      }
      i += n;
    }
  }
}

}  // namespace shoal
