// Finds fully connected layers in the graph that forward has left, so that models need no changes:
// an Addmm whose second matrix is the transpose of a parameter. The gradient of that parameter is
// error^T x input. Inputs of more than two dimensions may use other nodes, which are not found.
#pragma once

#include <torch/csrc/autograd/function.h>

#include <functional>
#include <vector>

#include "learner/learner.h"

namespace shoal {

// Called for the layer whose weight is parameter i.
using FactorsSeen =
    std::function<void(std::size_t i, const at::Tensor& error, const at::Tensor& input)>;

enum class Product : std::uint8_t { Autograd, Caller };

// Calls `seen` during backward from `loss`, before the gradient of parameter i is ready; nodes[i]
// is the node that accumulates it. Product::Caller: `seen` computes that gradient, and autograd
// does not.
void watch_factors(const at::Tensor& loss,
                   const std::vector<std::shared_ptr<torch::autograd::Node>>& nodes,
                   Product product, const FactorsSeen& seen);

Factors factors_of(const at::Tensor& error, const at::Tensor& input);

}  // namespace shoal
