#include "codec/signs.h"

#include <algorithm>

namespace shoal {

std::size_t Signs::expected(std::size_t n) const {
  return 12 + static_cast<std::size_t>(part_ * static_cast<double>(n) * gap_bytes(part_, 1));
}

Signs::Choice Signs::write(const Source& source, std::span<std::byte> out,
                           std::size_t& size) const {
  require_room(*this, source, out);
  Choice choice = choose(source);
  Writer to(out);
  to.put(choice.plus);
  to.put(choice.minus);
  to.put(static_cast<std::uint32_t>(choice.at.size()));
  put_signed_gaps(choice.at, source.values, to);
  size = to.size();
  return choice;
}

std::size_t Signs::encode(const Source& source, std::span<std::byte> out, const DrawKey&) const {
  std::size_t size = 0;
  write(source, out, size);
  return size;
}

std::size_t Signs::encode_with_residual(const Source& source, std::span<float> residual,
                                        std::span<std::byte> out, const DrawKey&) const {
  SHOAL_CHECK_EQ(residual.size(), source.values.size());
  std::size_t size = 0;
  const Choice choice = write(source, out, size);
  if (residual.data() != source.values.data()) std::ranges::copy(source.values, residual.begin());
  for (const std::uint32_t place : choice.at)
    residual[place] -= bits_of(residual[place]) >> 31U == 0 ? choice.plus : choice.minus;
  return size;
}

template <class F>
void Signs::each(std::span<const std::byte> in, std::size_t n, const F& f) const {
  Reader from(in, name_);
  const float plus = from.get_finite();
  const float minus = from.get_finite();
  const std::uint32_t count = get_count(from, n, 1);
  Gaps gaps(from, n);
  for (std::uint32_t j = 0; j < count; ++j) {
    const Signed place = gaps.next_signed();
    f(place.at, place.negative ? minus : plus);
  }
  from.end();
}

void Signs::decode_add(std::span<const std::byte> in, std::span<float> sum, float scale) const {
  each(in, sum.size(), [&](std::uint32_t at, float x) { sum[at] += scale * x; });
}

void Signs::decode_list(std::span<const std::byte> in, std::size_t n, SparseList& list) const {
  list.at.clear();
  list.value.clear();
  each(in, n, [&](std::uint32_t at, float x) {
    list.at.push_back(at);
    list.value.push_back(x);
  });
}

}  // namespace shoal
