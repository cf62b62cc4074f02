// What a learner is trained on, as it sees it: the shape of a sample, and batches of them.
//
// A BatchSource turns sample ids into numbers; data/ implements it. Draws that belong to a sample
// (crop, flip) are keyed by (seed, epoch, sample), so that a batch depends on nothing but the call.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/types.h"

namespace shoal {

enum class InputKind : std::uint8_t {
  Dense,   // numbers in a fixed shape: {features}, or {channels, height, width}
  Sparse,  // a few (index, value) pairs out of `features`
  Tokens,  // {length} numbers of symbols
};

enum class TargetKind : std::uint8_t {
  Classes,  // one label of `classes`; 0: nobody knows of how many
  Values,   // `classes` real numbers, to be approximated
  Next,     // for each token of the input the one that follows it, of `classes` symbols
};

struct SampleShape {
  InputKind input = InputKind::Dense;
  std::vector<std::int64_t> shape;  // of one sample; Sparse: {features}
  TargetKind target = TargetKind::Classes;
  std::int64_t classes = 0;

  bool operator==(const SampleShape&) const = default;
};

std::string describe(const SampleShape& shape);  // "1x28x28 numbers, 10 classes"

// n samples, one after the other. Which vectors are used follows from the shape.
struct Batch {
  std::uint64_t n = 0;
  std::vector<float> dense;           // n x shape
  std::vector<std::int64_t> tokens;   // n x length
  std::vector<std::int64_t> offsets;  // Sparse: sample i has the pairs [offsets[i], offsets[i+1])
  std::vector<std::int64_t> indices;  // of the pairs, ascending within a sample
  std::vector<float> weights;         // of the pairs
  std::vector<std::int64_t> labels;   // n, or n x length for Next
  std::vector<float> values;          // n x classes
};

// Thread safety: fill() may be called from several threads at once.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  virtual const SampleShape& shape() const = 0;
  virtual std::uint64_t size() const = 0;  // samples, with ids 0 .. size - 1
  // Replaces the batch. Its memory is used again when it is large enough. Throws DataError for
  // what only reading finds out.
  virtual void fill(std::uint64_t epoch, std::span<const SampleId> samples, Batch& batch) const = 0;
};

}  // namespace shoal
