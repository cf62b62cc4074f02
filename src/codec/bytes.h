// Private to src/codec: floats as bits, and bytes with their bounds checked once a read.
#pragma once

#include <fmt/core.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/wide.h"
#include "codec/codec.h"

namespace shoal {

inline constexpr std::uint32_t kInfinityBits = 0x7f80'0000U;

SHOAL_INLINE inline std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }
SHOAL_INLINE inline float float_of(std::uint32_t bits) { return std::bit_cast<float>(bits); }
// Without its sign; of two floats the larger in magnitude has the larger.
SHOAL_INLINE inline std::uint32_t magnitude(float x) { return bits_of(x) & 0x7fff'ffffU; }
SHOAL_INLINE inline bool is_finite(float x) { return magnitude(x) < kInfinityBits; }

// The largest magnitude of all values, as bits; 0 without values.
std::uint32_t largest_magnitude(std::span<const float> values, Width width);
// In double precision, the same bits for every width.
double sum_of_squares(std::span<const float> values, Width width);

// DataError for the first NaN or infinity; `largest` is the largest magnitude, or anything larger.
void refuse_if_not_finite(std::uint32_t largest, std::span<const float> values);

// Checks the requirements of every encode.
inline void require_room(const Codec& codec, const Source& source, std::span<std::byte> out) {
  SHOAL_CHECK_LT(source.values.size(), std::size_t{1} << 31U, "cut it into smaller pieces");
  SHOAL_CHECK_GE(out.size(), codec.bound(source.values.size()));
}

// Writes numbers one after the other. REQUIRES: there is room; bound() guarantees it.
class Writer {
 public:
  explicit Writer(std::span<std::byte> out) : begin_(out.data()), at_(out.data()) {}
  template <class T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::memcpy(at_, &value, sizeof value);
    at_ += sizeof value;
  }
  template <class T>
  void put(std::span<const T> values) {
    if (!values.empty()) std::memcpy(at_, values.data(), values.size_bytes());
    at_ += values.size_bytes();
  }
  std::byte* skip(std::size_t n) { return std::exchange(at_, at_ + n); }
  std::size_t size() const { return static_cast<std::size_t>(at_ - begin_); }

 private:
  std::byte* begin_;
  std::byte* at_;
};

class Reader {
 public:
  // `what` is the codec's name.
  Reader(std::span<const std::byte> in, const char* what) : in_(in), what_(what) {}

  const std::byte* take(std::size_t n) {
    if (in_.size() < n) corrupt(fmt::format("it ends {} bytes too early", n - in_.size()));
    const std::byte* const at = in_.data();
    in_ = in_.subspan(n);
    return at;
  }
  template <class T>
  T get() {
    T value;
    std::memcpy(&value, take(sizeof value), sizeof value);
    return value;
  }
  float get_finite() {
    const auto value = get<float>();
    if (!is_finite(value)) corrupt("it holds a number that is not finite");
    return value;
  }
  std::size_t left() const { return in_.size(); }
  void end() const {
    if (!in_.empty()) corrupt(fmt::format("it is {} bytes too long", in_.size()));
  }
  // All of it has n bytes.
  void require(std::size_t n) const {
    if (in_.size() != n) corrupt(fmt::format("it has {} bytes where {} are needed", in_.size(), n));
  }
  [[noreturn]] void corrupt(const std::string& why) const {
    throw Corrupt(fmt::format("{}: {}; is the sender of the same version and recipe?", what_, why));
  }

 private:
  std::span<const std::byte> in_;
  const char* what_;
};

}  // namespace shoal
