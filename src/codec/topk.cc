#include "codec/topk.h"

#include <algorithm>

#include "codec/sparse.h"

namespace shoal {
namespace {

class TopkCodec final : public Codec {
 public:
  TopkCodec(double ratio, Width width) : ratio_(ratio), width_(width) {}
  std::size_t bound(std::size_t n) const override {
    const std::size_t k = count_of(ratio_, n);
    return 4 + 4 * k + gaps_bound(k, n);
  }
  std::size_t expected(std::size_t n) const override {
    const auto k = static_cast<double>(count_of(ratio_, n));
    return 4 + static_cast<std::size_t>(k * (4 + gap_bytes(ratio_, 0)));
  }
  bool sparse() const override { return true; }

  std::size_t encode(const Source& source, std::span<std::byte> out,
                     const DrawKey&) const override {
    return write(source.values, choose(source, out), out);
  }

  std::size_t encode_with_residual(const Source& source, std::span<float> residual,
                                   std::span<std::byte> out, const DrawKey&) const override {
    SHOAL_CHECK_EQ(residual.size(), source.values.size());
    const Places at = choose(source, out);
    if (residual.data() != source.values.data()) std::ranges::copy(source.values, residual.begin());
    return send(at, residual, out);
  }

  std::size_t encode_carried(std::span<const float> latest, std::span<const float> carried,
                             std::span<float> residual, std::span<std::byte> out,
                             const DrawKey&) const override {
    require_room(*this, {residual, latest}, out);
    const std::size_t k = count_of(ratio_, latest.size());
    return send(largest_of_sum(latest, carried, residual, k, width_), residual, out);
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

 private:
  Places choose(const Source& source, std::span<std::byte> out) const {
    require_room(*this, source, out);
    return largest(source.values, count_of(ratio_, source.values.size()), width_);
  }

  // Sent elements do not remain in the residual.
  static std::size_t send(const Places& at, std::span<float> values, std::span<std::byte> out) {
    const std::size_t size = write(values, at, out);
    for (const std::uint32_t place : at) values[place] = 0;
    return size;
  }

  static std::size_t write(std::span<const float> values, const Places& at,
                           std::span<std::byte> out) {
    Writer to(out);
    to.put(static_cast<std::uint32_t>(at.size()));
    for (const std::uint32_t place : at) to.put(values[place]);
    put_gaps(at, to);
    return to.size();
  }

  template <class F>
  static void each(std::span<const std::byte> in, std::size_t n, const F& f) {
    Reader from(in, "topk");
    const std::uint32_t k = get_count(from, n, 5);
    Reader values({from.take(std::size_t{4} * k), std::size_t{4} * k}, "topk");
    Gaps gaps(from, n);
    for (std::uint32_t j = 0; j < k; ++j) {
      const std::uint32_t at = gaps.next();
      f(at, values.get_finite());
    }
    from.end();
  }

  double ratio_;
  Width width_;
};

}  // namespace

std::unique_ptr<Codec> Topk::make(Width width) const {
  return std::make_unique<TopkCodec>(ratio, width);
}

}  // namespace shoal
