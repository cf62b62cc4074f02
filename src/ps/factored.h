// The form of a pushed gradient with factors: the gradient of a fully connected layer's weight is
// error^T x input, and these have B (M + N') numbers instead of M N'. Chilimbi et al., "Project
// Adam", OSDI 2014. The receiver computes the gradient.
//
//   pieces of the shard, in order, each with a head: numbers as they are, or the factors of those
//   rows of a weight that are in it, where that is less
//
// Cost: B M N' multiplications at the receiver, instead of sending M N' numbers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/types.h"
#include "learner/learner.h"
#include "ps/shard_map.h"

namespace shoal {

// A weight whose gradient has factors, and where it begins among the parameters.
struct Layer {
  Elements at;
  Factors factors;
};

// `g`: of all parameters. `layers`: ascending.
std::vector<float> pack(const ShardCut& cut, std::span<const float> g,
                        std::span<const Layer> layers);

// It is never longer.
Elements packed_most(const ShardCut& cut, std::size_t layers);

// Reads a packed gradient. Throws Corrupt unless it is a gradient of that shard.
class Packed {
 public:
  Packed(const ShardCut& cut, std::span<const float> words);
  // Computes the gradient of the elements [from, to) of the shard; or adds it to the target.
  void form(std::size_t from, std::size_t to, std::span<float> g) const;
  void add(std::size_t from, std::size_t to, std::span<float> g) const;

 private:
  struct Piece {
    std::uint64_t at = 0, n = 0;                // in the shard
    std::uint64_t batch = 0;                    // 0: as they are
    std::uint64_t skipped = 0;                  // elements of the first row that are not in it
    std::uint64_t rows = 0, columns = 0;        // of the factors
    std::span<const float> values{}, inputs{};  // or errors, and inputs
  };
  std::vector<Piece> pieces_;
};

}  // namespace shoal
