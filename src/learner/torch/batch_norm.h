// BatchNorm2d: Ioffe & Szegedy, ICML 2015, arXiv:1502.03167, over the samples that the choice says
// (learner/normalization.h). Parameters and buffers have the names that torch::nn::BatchNorm2d has.
//
// Groups: a batch of n samples is n/K groups, rounded, as even as can be; each has statistics of
// its own, and the running ones take a step of momentum for each group, in order, as in the paper's
// Algorithm 1. Every sample has the gradient that it would have in a batch of its group alone.
//
// Workers: count, sum and sum of squares of all workers' samples are added up in forward, and the
// two sums of the gradient in backward: 2C + 1 and 2C numbers for C channels.
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
  // With those of the other workers; alone they stay as they are.
  void add_up(std::span<double> numbers);
  // Takes part in all meetings of a pass, without any samples.
  void add_nothing();

  InPassReducer* meeting = nullptr;  // while a pass runs
  std::vector<std::size_t> sizes;    // of the meetings of a pass, in order
  bool noting = false;               // the sizes, in a first pass
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
