// BatchNorm2d: Ioffe & Szegedy, ICML 2015, arXiv:1502.03167, over the chosen samples
// (learner/normalization.h). Parameters and buffers have the names of torch::nn::BatchNorm2d.
//
// Groups: a batch of n samples is cut into n/K groups (rounded), as even as possible. Each group
// has its own statistics, and the running ones take a step of momentum for each group, in order, as
// in the paper's Algorithm 1. Every sample has the gradient that it would have in a batch of its
// group.
//
// Workers: forward sums count, sum and sum of squares over all workers' samples, and backward the
// two sums of the gradient: 2C + 1 and 2C numbers for C channels.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "learner/normalization.h"

namespace shoal {

// Shared by the layers of one network.
class NormContext {
 public:
  // Adds the numbers of the other workers; without a reducer they stay unchanged.
  void add_up(std::span<double> numbers);
  // Takes part in all reductions of a pass, without samples.
  void add_nothing();

  InPassReducer* meeting = nullptr;  // while a pass runs
  std::vector<std::size_t> sizes;    // of the reductions of a pass, in order
  bool noting = false;               // records the sizes in a first pass
};
using NormContextPtr = std::shared_ptr<NormContext>;

class BatchNorm2dImpl final : public torch::nn::Module {
 public:
  explicit BatchNorm2dImpl(std::int64_t channels);
  at::Tensor forward(const at::Tensor& x);

  void choose(BatchNorm choice, NormContextPtr context);

 private:
  at::Tensor normalize(const at::Tensor& x);
  at::Tensor by_groups(const at::Tensor& x);

  at::Tensor weight_, bias_, running_mean_, running_var_, batches_;
  BatchNorm choice_;
  NormContextPtr context_;
};
TORCH_MODULE(BatchNorm2d);

}  // namespace shoal
