#include "ps/pushed_part.h"

#include <fmt/core.h>
#include <zstd.h>

#include <algorithm>
#include <bit>
#include <functional>

#include "base/error.h"

namespace shoal {
namespace {

enum PartKind : std::uint32_t { kListed, kKnown, kWhole };
constexpr std::uint32_t kCompressed = 256;  // beside the kind
constexpr int kLevel = 1;                   // of zstd: as fast as it goes

std::uint64_t body_words(std::uint32_t kind, std::uint64_t elements, std::uint64_t all) {
  return kind == kWhole ? all : kind == kKnown ? elements : 2 * elements;
}

// Empty where it would not be shorter.
std::vector<std::uint32_t> compressed(std::span<const std::uint32_t> body, std::size_t& bytes) {
  std::vector<std::uint32_t> to(body.size());
  bytes = ZSTD_compress(to.data(), to.size() * sizeof(std::uint32_t), body.data(),
                        body.size_bytes(), kLevel);
  if (ZSTD_isError(bytes) != 0U) return {};  // it does not fit
  to.resize((bytes + sizeof(std::uint32_t) - 1) / sizeof(std::uint32_t));
  return to.size() < body.size() ? to : std::vector<std::uint32_t>();
}

}  // namespace

Bytes part_bytes(std::uint64_t elements, bool known) {
  return Bytes((kPartHeadWords + (known ? 1 : 2) * elements) * sizeof(std::uint32_t));
}

std::vector<std::uint32_t> pack_part(const ShardCut& cut, const Keys& keys,
                                     std::span<const float> values, PartForm form) {
  const std::uint64_t n = cut.n.value(), count = keys.at.size();
  const std::uint32_t kind = form.known ? kKnown : 2 * count >= n ? kWhole : kListed;
  std::vector<std::uint32_t> packed(kPartHeadWords + body_words(kind, count, n));
  const std::span<std::uint32_t> body = std::span(packed).subspan(kPartHeadWords);
  if (kind == kWhole) {
    for (std::size_t i = 0; i < count; ++i)
      body[keys.at[i]] = std::bit_cast<std::uint32_t>(values[i]);
  } else {
    if (kind == kListed) std::ranges::copy(keys.at, body.begin());
    const std::span<std::uint32_t> to = body.last(count);
    std::ranges::transform(values.first(count), to.begin(), std::bit_cast<std::uint32_t, float>);
  }
  std::uint32_t head[kPartHeadWords] = {kind, static_cast<std::uint32_t>(count), keys.number,
                                        static_cast<std::uint32_t>(body.size_bytes())};
  if (form.compress) {
    std::size_t bytes = 0;
    if (const std::vector<std::uint32_t> less = compressed(body, bytes); !less.empty()) {
      head[0] |= kCompressed;
      head[3] = static_cast<std::uint32_t>(bytes);
      packed.resize(kPartHeadWords + less.size());
      std::ranges::copy(less, packed.begin() + kPartHeadWords);
    }
  }
  std::ranges::copy(head, packed.begin());
  return packed;
}

PushedPart::PushedPart(const ShardCut& cut, std::span<const std::uint32_t> words, Keys& last) {
  const std::uint64_t n = cut.n.value();
  if (words.size() < kPartHeadWords) throw Corrupt("a part of a gradient ends too early");
  const std::uint32_t kind = words[0] & ~kCompressed, count = words[1], number = words[2];
  const bool packed = (words[0] & kCompressed) != 0;
  std::span<const std::uint32_t> body = words.subspan(kPartHeadWords);
  const bool fits = words[3] <= body.size_bytes() && body.size_bytes() - words[3] < 4;
  if (kind > kWhole || count > n || !fits)
    throw Corrupt(fmt::format("a part of a gradient has {} elements of {}, of kind {}, in {} bytes",
                              count, n, kind, words[3]));
  const std::uint64_t whole_size = body_words(kind, count, n);
  if (packed) {
    unpacked_.resize(whole_size);
    const std::size_t size = unpacked_.size() * sizeof(std::uint32_t);
    if (ZSTD_decompress(unpacked_.data(), size, body.data(), words[3]) != size)
      throw Corrupt("a compressed part of a gradient is not what it was");
    body = unpacked_;
  }
  if (body.size() != whole_size) throw Corrupt("a part of a gradient is too short or too long");
  whole_ = kind == kWhole;
  if (kind == kListed) {
    const std::span<const std::uint32_t> keys = body.first(count);
    const bool ascend = std::ranges::adjacent_find(keys, std::greater_equal{}) == keys.end();
    if (!ascend || (count > 0 && keys.back() >= n))
      throw Corrupt("the keys of a part of a gradient do not ascend within the shard");
    last = {number, {keys.begin(), keys.end()}};
    body = body.subspan(count);
  }
  if (!whole_ && last.number == number && last.at.size() == count) keys_ = &last;
  values_ = body;
}

void PushedPart::form(std::size_t from, std::size_t to, std::span<float> g) const {
  if (whole_) {
    for (std::size_t i = from; i < to; ++i) g[i] = std::bit_cast<float>(values_[i]);
    return;
  }
  std::ranges::fill(g.subspan(from, to - from), 0.0F);
  const std::vector<std::uint32_t>& at = keys_->at;
  for (auto it = std::ranges::lower_bound(at, from); it != at.end() && *it < to; ++it)
    g[*it] = std::bit_cast<float>(values_[static_cast<std::size_t>(it - at.begin())]);
}

}  // namespace shoal
