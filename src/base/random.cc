#include "base/random.h"

#include <cmath>
#include <numbers>

#include "base/check.h"

namespace shoal {
namespace {

struct Product {
  std::uint64_t high, low;
};
Product multiply(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide p = static_cast<Wide>(a) * b;
  return {static_cast<std::uint64_t>(p >> 64U), static_cast<std::uint64_t>(p)};
}

}  // namespace

std::array<std::uint64_t, 4> philox4x64(std::array<std::uint64_t, 4> c,
                                        std::array<std::uint64_t, 2> k) {
  for (int round = 0; round < 10; ++round) {
    const Product p0 = multiply(0xD2E7470EE14C6C93ULL, c[0]);
    const Product p1 = multiply(0xCA5A826395121157ULL, c[2]);
    c = {p1.high ^ c[1] ^ k[0], p1.low, p0.high ^ c[3] ^ k[1], p0.low};
    k[0] += 0x9E3779B97F4A7C15ULL;  // golden ratio
    k[1] += 0xBB67AE8584CAA73BULL;  // sqrt(3) - 1
  }
  return c;
}

std::uint64_t Random::bits() {
  if (used_ == block_.size()) {
    block_ = philox4x64(counter_, key_);
    ++counter_[0];
    used_ = 0;
  }
  return block_[used_++];
}

std::uint64_t Random::below(std::uint64_t n) {
  SHOAL_CHECK_GT(n, 0U);
  // Lemire 2019, arXiv:1805.10941: multiply, and reject the few draws that would bias.
  Product p = multiply(bits(), n);
  if (p.low < n) {
    const std::uint64_t threshold = (0 - n) % n;
    while (p.low < threshold) p = multiply(bits(), n);
  }
  return p.high;
}

double Random::normal() {
  // Box-Muller; the second value is discarded, so that every draw takes two numbers.
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

double Random::exponential() { return -std::log(1.0 - uniform()); }

double Random::pareto(double shape) { return std::pow(1.0 - uniform(), -1.0 / shape); }

Duration Random::duration(Duration lo, Duration hi) {
  SHOAL_CHECK_GT(lo.count(), 0);
  SHOAL_CHECK_LE(lo.count(), hi.count());
  const double ratio = static_cast<double>(hi.count()) / static_cast<double>(lo.count());
  return from_seconds(seconds(lo) * std::pow(ratio, uniform()));
}

}  // namespace shoal
