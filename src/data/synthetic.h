// Datasets of any size without file and memory: sample i is drawn from (seed, i) on request.
// Private to this layer.
#pragma once

#include <cstdint>
#include <memory>

#include "base/types.h"
#include "data/parse.h"
#include "learner/batch.h"

namespace shoal {

// Makes one sample. Thread safety: immutable.
class Generator {
 public:
  virtual ~Generator() = default;
  const SampleShape& shape() const { return shape_; }
  // Writes sample `sample` to position `slot` of a batch that has its size.
  virtual void make(std::uint64_t sample, std::uint64_t slot, Batch& batch) const = 0;

 protected:
  explicit Generator(Seed seed) : seed_(seed) {}
  Seed seed_;
  SampleShape shape_;
};

using GeneratorFactory = std::unique_ptr<const Generator> (*)(Seed seed, SpecKeys& keys);

// Each function reads its keys, and throws ConfigError for impossible sizes.
std::unique_ptr<const Generator> make_blobs(Seed seed, SpecKeys& keys);
std::unique_ptr<const Generator> make_spirals(Seed seed, SpecKeys& keys);
std::unique_ptr<const Generator> make_images(Seed seed, SpecKeys& keys);
std::unique_ptr<const Generator> make_teacher(Seed seed, SpecKeys& keys);
std::unique_ptr<const Generator> make_sparse(Seed seed, SpecKeys& keys);
std::unique_ptr<const Generator> make_text(Seed seed, SpecKeys& keys);

}  // namespace shoal
