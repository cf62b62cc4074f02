#include "codec/sparse.h"

#include <algorithm>

namespace shoal {
namespace {

void put_number(std::uint64_t value, Writer& to) {
  while (value >= 0x80U) {
    to.put(static_cast<std::uint8_t>(value | 0x80U));
    value >>= 7U;
  }
  to.put(static_cast<std::uint8_t>(value));
}

}  // namespace

double gap_bytes(double part, unsigned low_bits) {
  // A gap is at least g with probability (1 - part)^g.
  double bytes = 1;
  for (unsigned bits = 7 - low_bits; bits < 32; bits += 7)
    bytes += std::exp(std::exp2(bits) * std::log1p(-std::min(part, 1 - 1e-12)));
  return bytes;
}

void put_gaps(std::span<const std::uint32_t> at, Writer& to) {
  std::uint32_t next = 0;
  for (const std::uint32_t place : at) {
    put_number(place - next, to);
    next = place + 1;
  }
}

void put_signed_gaps(std::span<const std::uint32_t> at, std::span<const float> values, Writer& to) {
  std::uint32_t next = 0;
  for (const std::uint32_t place : at) {
    put_number(std::uint64_t{place - next} << 1U | bits_of(values[place]) >> 31U, to);
    next = place + 1;
  }
}

std::uint32_t get_count(Reader& from, std::size_t n, std::size_t least) {
  const auto count = from.get<std::uint32_t>();
  if (count > n) from.corrupt(fmt::format("it claims to hold {} of {} elements", count, n));
  if (count * least > from.left())
    from.corrupt(fmt::format("it has {} bytes for {} elements", from.left(), count));
  return count;
}

}  // namespace shoal
