// Begins every fill() of a source; private to this layer.
#pragma once

#include "base/check.h"
#include "learner/batch.h"

namespace shoal {

// Makes it a batch of n samples of this shape: the vectors that the shape uses get their size
// (sparse pairs: empty), the others are empty.
inline void begin_batch(const SampleShape& shape, std::uint64_t n, Batch& batch) {
  std::uint64_t elements = 1;
  for (const std::int64_t d : shape.shape) elements *= static_cast<std::uint64_t>(d);
  const bool next = shape.target == TargetKind::Next;
  batch.n = n;
  batch.dense.resize(shape.input == InputKind::Dense ? n * elements : 0);
  batch.tokens.resize(shape.input == InputKind::Tokens ? n * elements : 0);
  batch.offsets.assign(shape.input == InputKind::Sparse ? 1 : 0, 0);
  batch.indices.clear();
  batch.weights.clear();
  batch.labels.resize(next ? n * elements : shape.target == TargetKind::Classes ? n : 0);
  batch.values.resize(
      shape.target == TargetKind::Values ? n * static_cast<std::uint64_t>(shape.classes) : 0);
}

inline void check_sample(SampleId sample, std::uint64_t size) {
  SHOAL_CHECK_LT(sample, size, "there is no such sample");
}

}  // namespace shoal
