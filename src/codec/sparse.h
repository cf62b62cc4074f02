// Private to src/codec: positions of elements as gaps, shared by codecs that send few elements.
//
// A gap is the number of elements between one position and the next. Gaps are written seven bits to
// a byte, the lowest first, the eighth bit set where more follow: one byte for gaps below 128.
// Where only the sign of an element is sent, it is the lowest bit of its gap.
#pragma once

#include <algorithm>
#include <span>

#include "codec/bytes.h"
#include "codec/select.h"

namespace shoal {

// Writes a position and a sign: gap, lowest bit.
struct Signed {
  std::uint32_t at = 0;
  bool negative = false;
};

// The most bytes that k gaps in n elements take: no gap takes more bytes than it has elements.
constexpr std::size_t gaps_bound(std::size_t k, std::size_t n) { return std::min(5 * k, n); }
// The mean number of bytes of a gap where each element is sent with probability `part`; `low_bits`
// of a gap's lowest byte are taken.
double gap_bytes(double part, unsigned low_bits);

void put_gaps(std::span<const std::uint32_t> at, Writer& to);
void put_signed_gaps(std::span<const std::uint32_t> at, std::span<const float> values, Writer& to);

// Reads gaps one by one. Corrupt unless positions rise and are below n.
class Gaps {
 public:
  Gaps(Reader& from, std::size_t n) : from_(&from), n_(n) {}
  std::uint32_t next() { return advance(number()); }
  Signed next_signed() {
    const std::uint64_t both = number();
    return {advance(both >> 1U), (both & 1U) != 0};
  }

 private:
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = from_->get<std::uint8_t>();
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80U) return value;
      if (shift == 28) from_->corrupt("a gap has more than five bytes");
    }
  }
  std::uint32_t advance(std::uint64_t gap) {
    if (gap >= n_ - next_)
      from_->corrupt(fmt::format("a position is beyond the last of {} elements", n_));
    next_ += gap + 1;
    return static_cast<std::uint32_t>(next_ - 1);
  }

  Reader* from_;
  std::uint64_t n_;
  std::uint64_t next_ = 0;
};

// Reads how many elements were sent. Each takes `least` bytes at least.
std::uint32_t get_count(Reader& from, std::size_t n, std::size_t least);

}  // namespace shoal
