// Factors of fully connected layers, found in the graph that forward has left behind, so that no
// model has to be changed for them: an Addmm whose second matrix is the transpose of a parameter.
// Inputs of more than two dimensions take other nodes; their gradients come dense only.
#pragma once

#include <torch/csrc/autograd/function.h>

#include <functional>
#include <vector>

#include "learner/learner.h"

namespace shoal {

// Calls `found(i, factors)` during backward from `loss`, before the gradient of parameter i is
// ready, where nodes[i] is the node that accumulates it.
void watch_factors(const at::Tensor& loss,
                   const std::vector<std::shared_ptr<torch::autograd::Node>>& nodes,
                   const std::function<void(std::size_t i, Factors)>& found);

}  // namespace shoal
