// Training data as a learner sees it: the shape of a sample, and batches.
//
// A BatchSource turns sample ids into numbers; data/ implements it. Augmentation (crop, flip) is
// keyed by (seed, epoch, sample), so that a batch depends only on the arguments of the call.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/types.h"

namespace shoal {

enum class InputKind : std::uint8_t {
  Dense,   // numbers of a fixed shape: {features}, or {channels, height, width}
  Sparse,  // a few (index, value) pairs out of `features`
  Tokens,  // {length} symbols
};

enum class TargetKind : std::uint8_t {
  Classes,  // one label of `classes`; 0: the number of classes is unknown
  Values,   // `classes` real numbers to approximate
  Next,     // for each input token the next one, of `classes` symbols
};

struct SampleShape {
  InputKind input = InputKind::Dense;
  std::vector<std::int64_t> shape;  // of one sample; Sparse: {features}
  TargetKind target = TargetKind::Classes;
  std::int64_t classes = 0;

  bool operator==(const SampleShape&) const = default;
};

std::string describe(const SampleShape& shape);  // "1x28x28 numbers, 10 classes"

// n consecutive samples. The shape determines which vectors are used.
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
  // Replaces the batch, reusing its memory if it is large enough. Throws DataError for errors found
  // only when reading.
  virtual void fill(std::uint64_t epoch, std::span<const SampleId> samples, Batch& batch) const = 0;
};

}  // namespace shoal
