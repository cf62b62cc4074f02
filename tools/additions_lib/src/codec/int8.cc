#include "codec/int8.h"

#include <algorithm>

#include "codec/bytes.h"

namespace shoal {
namespace {

constexpr float kSteps = 127;

class Int8Codec final : public Codec {
 public:
  explicit Int8Codec(Width width) : width_(width) {}
  std::size_t bound(std::size_t n) const override { return sizeof(float) + n; }
  std::size_t expected(std::size_t n) const override { return bound(n); }

  std::size_t encode(const Source& source, std::span<std::byte> out,
                     const DrawKey& /*key*/) const override {
    require_room(*this, source, out);
    const std::uint32_t largest = largest_magnitude(source.values, width_);
    refuse_if_not_finite(largest, source.values);
    const float step = float_of(largest) / kSteps;
    Writer writer(out);
    writer.put(step);
    for (const float x : source.values) {
      const float steps = step > 0 ? std::clamp(std::nearbyint(x / step), -kSteps, kSteps) : 0;
      writer.put(static_cast<std::int8_t>(steps));
    }
    return writer.size();
  }

  void decode_add(std::span<const std::byte> in, std::span<float> sum, float scale) const override {
    Reader reader(in, "int8");
    reader.require(bound(sum.size()));
    const auto step = reader.get_finite();
    for (float& x : sum) x += scale * (static_cast<float>(reader.get<std::int8_t>()) * step);
  }

 private:
  Width width_;
};

}  // namespace

std::unique_ptr<Codec> Int8::make(Width width) const { return std::make_unique<Int8Codec>(width); }

}  // namespace shoal
