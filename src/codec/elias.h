// Private to src/codec: streams of bits, and numbers in the recursive code of Elias (omega): Elias,
// "Universal codeword sets and representations of the integers", IEEE Trans. Inform. Theory 1975,
// doi:10.1109/TIT.1975.1055349. Small numbers take few bits: 1 takes 1, 2 and 3 take 3.
#pragma once

#include <bit>

#include "codec/bytes.h"

namespace shoal {

// Bits of x in this code. REQUIRES: x >= 1.
constexpr unsigned omega_bits(std::uint32_t x) {
  unsigned bits = 1;
  while (x > 1) {
    const auto width = static_cast<unsigned>(std::bit_width(x));
    bits += width;
    x = width - 1;
  }
  return bits;
}

class BitWriter {
 public:
  explicit BitWriter(std::byte* out) : out_(out) {}
  // The lowest `count` bits, the highest of them first. REQUIRES: count <= 32.
  void put(std::uint32_t bits, unsigned count) {
    pending_ = pending_ << count | bits;
    held_ += count;
    while (held_ >= 8) {
      held_ -= 8;
      *out_++ = static_cast<std::byte>(pending_ >> held_);
    }
  }
  void put_omega(std::uint32_t x) {
    // Groups from the last to the first.
    std::uint64_t code = 0;
    unsigned length = 1;
    while (x > 1) {
      const auto width = static_cast<unsigned>(std::bit_width(x));
      code |= std::uint64_t{x} << length;
      length += width;
      x = width - 1;
    }
    if (length > 32) {
      put(static_cast<std::uint32_t>(code >> 32U), length - 32);
      length = 32;
    }
    put(static_cast<std::uint32_t>(code), length);
  }
  // Fills the last byte with zeros and returns the end.
  std::byte* end() {
    if (held_ > 0) put(0, 8 - held_);
    return out_;
  }

 private:
  std::byte* out_;
  std::uint64_t pending_ = 0;
  unsigned held_ = 0;
};

class BitReader {
 public:
  // `from` is where bytes come from, and what is said where they end too early.
  explicit BitReader(Reader& from) : from_(&from) {}
  std::uint32_t get(unsigned count) {
    std::uint32_t bits = 0;
    for (; count > 0; --count) {
      if (held_ == 0) {
        byte_ = from_->get<std::uint8_t>();
        held_ = 8;
      }
      --held_;
      bits = bits << 1U | (byte_ >> held_ & 1U);
    }
    return bits;
  }
  // Corrupt where the number is larger than `most`.
  std::uint32_t get_omega(std::uint32_t most) {
    std::uint32_t x = 1;
    while (get(1) == 1) {
      if (x > 31) from_->corrupt("a number has more than 32 bits");
      x = 1U << x | get(x);
    }
    if (x > most) from_->corrupt(fmt::format("it holds {} where {} is the most", x, most));
    return x;
  }
  // Nothing but zeros is left of the last byte.
  void end() {
    if (get(held_) != 0) from_->corrupt("bits follow its end");
    from_->end();
  }

 private:
  Reader* from_;
  std::uint32_t byte_ = 0;
  unsigned held_ = 0;
};

}  // namespace shoal
