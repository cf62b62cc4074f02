#include "codec/randomk.h"

#include <algorithm>
#include <cfloat>

#include "base/random.h"
#include "codec/sparse.h"

namespace shoal {
namespace {

class RandomkCodec final : public Codec {
 public:
  RandomkCodec(double ratio, bool scaled, Width width)
      : ratio_(ratio), scaled_(scaled), width_(width) {}
  std::size_t bound(std::size_t n) const override { return 8 + 4 * count_of(ratio_, n); }
  std::size_t expected(std::size_t n) const override { return bound(n); }
  bool sparse() const override { return true; }
  bool summable() const override { return true; }
  bool unbiased() const override { return scaled_; }

  std::size_t encode(const Source& source, std::span<std::byte> out,
                     const DrawKey& key) const override {
    require_room(*this, source, out);
    const std::span<const float> values = source.values;
    refuse_if_not_finite(largest_magnitude(values, width_), values);
    Writer to(out);
    const std::uint64_t stream = Random(key.seed, Purpose::Encode, key.a, key.b).bits();
    to.put(stream);
    each_place(stream, values.size(), [&](std::uint32_t at, std::uint32_t part) {
      const float x = values[at] * (scaled_ ? static_cast<float>(part) : 1.0F);
      to.put(std::clamp(x, -FLT_MAX, FLT_MAX));
    });
    return to.size();
  }

  void decode_add(std::span<const std::byte> in, std::span<float> sum, float scale) const override {
    each(in, sum.size(), [&](std::uint32_t at, float x) { sum[at] += scale * x; });
  }

  void decode_list(std::span<const std::byte> in, std::size_t n, SparseList& list) const override {
    list.at.clear();
    list.value.clear();
    each(in, n, [&](std::uint32_t at, float x) {
      list.at.push_back(at);
      list.value.push_back(x);
    });
  }

  void add_encoded(std::span<std::byte> into, std::span<const std::byte> from) const override {
    Reader terms(from, "randomk");
    terms.require(into.size());
    Reader sums(into, "randomk");
    if (terms.get<std::uint64_t>() != sums.get<std::uint64_t>())
      terms.corrupt("it chose other elements, by another key");
    for (std::size_t at = 8; at + 4 <= into.size(); at += 4) {
      const float both = sums.get<float>() + terms.get_finite();
      std::memcpy(into.data() + at, &both, 4);
    }
  }

 private:
  template <class F>
  void each_place(std::uint64_t stream, std::size_t n, const F& f) const {
    const std::size_t k = count_of(ratio_, n);
    Random random(Seed(stream), Purpose::Encode);
    for (std::size_t j = 0; j < k; ++j) {
      const std::uint64_t from = j * std::uint64_t{n} / k;
      const std::uint64_t part = (j + 1) * std::uint64_t{n} / k - from;
      f(static_cast<std::uint32_t>(from + random.below(part)), static_cast<std::uint32_t>(part));
    }
  }

  template <class F>
  void each(std::span<const std::byte> in, std::size_t n, const F& f) const {
    Reader from(in, "randomk");
    from.require(bound(n));
    const auto stream = from.get<std::uint64_t>();
    each_place(stream, n, [&](std::uint32_t at, std::uint32_t) { f(at, from.get_finite()); });
  }

  double ratio_;
  bool scaled_;
  Width width_;
};

}  // namespace

std::unique_ptr<Codec> Randomk::make(Width width, bool feedback) const {
  return std::make_unique<RandomkCodec>(ratio, !feedback, width);
}

}  // namespace shoal
