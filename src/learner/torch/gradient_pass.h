// One backward pass: takes each parameter's gradient from autograd, and emits buckets in order.
#pragma once

#include <torch/csrc/autograd/function.h>
#include <torch/types.h>

#include <cstdint>
#include <exception>
#include <optional>
#include <vector>

#include "learner/layout.h"
#include "learner/learner.h"
#include "runtime/pieces.h"

namespace shoal {

// Buckets of a layout: consecutive parameter tensors.
struct Bucket {
  Elements at, n;
  std::uint32_t tensors = 0;
};
// `alone` tells which tensors must be buckets of their own.
std::vector<Bucket> cut_buckets(const Layout& layout, Bytes bucket_bytes,
                                const std::vector<bool>& alone);

class GradientPass {
 public:
  GradientPass(const Layout& layout, const std::vector<Bucket>& buckets, GradientTarget target,
               const Emit& emit, const Wanted& wanted);

  // The gradient of parameter tensor i; undefined means zero. Throws Cancelled if the result is no
  // longer wanted.
  void arrived(std::size_t i, const at::Tensor& gradient);
  // The same for a gradient error^T x input, which is computed in place, without a copy. REQUIRES:
  // makes_products().
  void arrived(std::size_t i, const at::Tensor& error, const at::Tensor& input);
  bool makes_products() const { return target_.sink == nullptr; }
  // Sets the gradients of unused parameters to zero.
  void flush();
  // For the bucket that consists of tensor i.
  void set_factors(std::size_t i, Factors factors);
  // The node's thread calls this when the bucket was emitted.
  Ready ready(std::uint32_t bucket) const;

 private:
  void expect(std::size_t i);
  void done(std::size_t i);
  void write(const TensorEntry& entry, const at::Tensor& gradient);
  void write_sparse(std::size_t i, const at::Tensor& gradient);

  const Layout& layout_;
  const std::vector<Bucket>& buckets_;
  GradientTarget target_;
  const Emit& emit_;
  const Wanted& wanted_;
  std::vector<std::uint32_t> bucket_of_;  // by tensor
  std::vector<bool> arrived_;             // by tensor
  std::vector<std::uint32_t> left_;       // missing tensors, by bucket
  std::uint32_t next_ = 0;                // the next bucket to emit
  std::vector<Ready> ready_;
};

}  // namespace shoal
