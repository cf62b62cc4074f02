#include "codec/codec.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace shoal {

static_assert(std::endian::native == std::endian::little, "encoded numbers are little-endian");

void Codec::decode(std::span<const std::byte> in, std::span<float> out) const {
  std::ranges::fill(out, 0.0F);
  decode_add(in, out);
}

std::size_t Codec::encode_with_residual(const Source& source, std::span<float> residual,
                                        std::span<std::byte> out, const DrawKey& key) const {
  SHOAL_CHECK_EQ(residual.size(), source.values.size());
  const std::size_t size = encode(source, out, key);
  if (residual.data() != source.values.data()) std::ranges::copy(source.values, residual.begin());
  decode_add(out.first(size), residual, -1);
  return size;
}

std::size_t Codec::encode_carried(std::span<const float> latest, std::span<const float> carried,
                                  std::span<float> residual, std::span<std::byte> out,
                                  const DrawKey& key) const {
  SHOAL_CHECK(residual.size() == latest.size() && carried.size() == latest.size(),
              "{} and {} elements for {}", carried.size(), residual.size(), latest.size());
  for (std::size_t i = 0; i < residual.size(); ++i) residual[i] = latest[i] + carried[i];
  return encode_with_residual({residual, latest}, residual, out, key);
}

void Codec::decode_list(std::span<const std::byte>, std::size_t, SparseList&) const {
  SHOAL_CHECK(false, "this codec has no lists: ask sparse() first");
}

void Codec::add_encoded(std::span<std::byte>, std::span<const std::byte>) const {
  SHOAL_CHECK(false, "messages of this codec cannot be summed: ask summable() first");
}

}  // namespace shoal
