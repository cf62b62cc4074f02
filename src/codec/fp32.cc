#include "codec/fp32.h"

#include <algorithm>

#include "codec/bytes.h"

namespace shoal {
namespace {

class Plain final : public Codec {
 public:
  std::size_t bound(std::size_t n) const override { return 4 * n; }
  std::size_t expected(std::size_t n) const override { return 4 * n; }
  bool summable() const override { return true; }
  bool unbiased() const override { return true; }

  std::size_t encode(const Source& source, std::span<std::byte> out,
                     const DrawKey&) const override {
    require_room(*this, source, out);
    std::uint32_t largest = 0;
    for (const float x : source.values) largest = std::max(largest, magnitude(x));
    refuse_if_not_finite(largest, source.values);
    Writer to(out);
    to.put(source.values);
    return to.size();
  }

  void decode_add(std::span<const std::byte> in, std::span<float> sum, float scale) const override {
    const Reader from(in, "fp32");
    from.require(4 * sum.size());
    std::uint32_t largest = 0;
    for (std::size_t i = 0; i < sum.size(); ++i)
      largest = std::max(largest, magnitude(number(in, i)));
    if (largest >= kInfinityBits) from.corrupt("it holds a number that is not finite");
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += scale * number(in, i);
  }

  void add_encoded(std::span<std::byte> into, std::span<const std::byte> from) const override {
    const Reader reader(from, "fp32");
    reader.require(into.size());
    for (std::size_t i = 0; i < into.size() / 4; ++i) {
      const float both = number(into, i) + number(from, i);
      std::memcpy(into.data() + 4 * i, &both, 4);
    }
  }

 private:
  static float number(std::span<const std::byte> in, std::size_t i) {
    float x;
    std::memcpy(&x, in.data() + 4 * i, 4);
    return x;
  }
};

}  // namespace

std::unique_ptr<Codec> Fp32::make(Width) const { return std::make_unique<Plain>(); }

}  // namespace shoal
