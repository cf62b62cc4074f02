// Counter-based random numbers: Philox4x64-10. Salmon, Moraes, Dror, Shaw, "Parallel random
// numbers: as easy as 1, 2, 3", SC 2011, doi:10.1145/2063384.2063405.
//
// A draw is a pure function of (seed, purpose, a, b, index), so it does not depend on the worker
// that makes it, the order of draws, or the number of workers:
//
//   Random shuffle(seed, Purpose::Shuffle, epoch);       // a stream: the index counts up
//   Random noise(seed, Purpose::Noise, sample, layer);
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/types.h"

namespace shoal {

// The purpose of a stream. Seeds depend on the values: append, never renumber.
enum class Purpose : std::uint64_t {
  Test = 0,
  Init = 1,
  Shuffle = 2,
  Noise = 3,
  Problem = 4,
  Cluster = 5,
  Faults = 6,
  Network = 7,
  Straggler = 8,
  Membership = 9,
  Disk = 10,
  Buggify = 11,
  Recipe = 12,
  Augment = 13,
  Holdout = 14,
  Partition = 15,
  Dropout = 16,
  Topology = 17,
  Gossip = 18,
  Encode = 19,
  Interleave = 20,
  Bagging = 21,
  Cores = 22,
};

// One block of Philox4x64-10: 256 random bits from a 256-bit counter and a 128-bit key.
std::array<std::uint64_t, 4> philox4x64(std::array<std::uint64_t, 4> counter,
                                        std::array<std::uint64_t, 2> key);

class Random {
 public:
  Random(Seed seed, Purpose purpose, std::uint64_t a = 0, std::uint64_t b = 0)
      : key_{seed.value(), static_cast<std::uint64_t>(purpose)}, counter_{0, a, b, 0} {}

  std::uint64_t bits();
  double uniform() { return static_cast<double>(bits() >> 11U) * 0x1p-53; }  // [0, 1)
  std::uint64_t below(std::uint64_t n);  // 0..n-1, unbiased. REQUIRES: n > 0
  std::uint64_t between(std::uint64_t lo, std::uint64_t hi) { return lo + below(hi - lo + 1); }
  bool chance(double probability) { return uniform() < probability; }
  double normal();                              // mean 0, variance 1
  double exponential();                         // mean 1
  double pareto(double shape);                  // minimum 1; heavy tail for shape <= 2
  Duration duration(Duration lo, Duration hi);  // log-uniform. REQUIRES: 0 < lo <= hi

 private:
  std::array<std::uint64_t, 2> key_;
  std::array<std::uint64_t, 4> counter_;
  std::array<std::uint64_t, 4> block_{};
  unsigned used_ = 4;
};

// Fisher-Yates.
template <class T>
void shuffle(std::span<T> items, Random& random) {
  for (std::size_t i = items.size(); i > 1; --i) {
    using std::swap;
    swap(items[i - 1], items[random.below(i)]);
  }
}

}  // namespace shoal
