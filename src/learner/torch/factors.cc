#include "learner/torch/factors.h"

#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/generated/Functions.h>

#include <algorithm>
#include <unordered_map>

namespace shoal {
namespace {

using torch::autograd::Node;

// A batch lies in memory outside of the tensor, and the next batch overwrites it.
std::shared_ptr<const float> memory_of(const at::Tensor& tensor) {
  const bool own = tensor.storage().resizable();
  auto holder = std::make_shared<at::Tensor>(own ? tensor.contiguous() : tensor.clone());
  return {holder, holder->data_ptr<float>()};
}

// Sees the error that enters an Addmm in backward.
class ErrorHook final : public torch::autograd::FunctionPreHook {
 public:
  using Seen = std::function<void(const at::Tensor& error)>;
  explicit ErrorHook(Seen seen) : seen_(std::move(seen)) {}
  torch::autograd::variable_list operator()(const torch::autograd::variable_list& errors) override {
    if (errors[0].defined()) seen_(errors[0]);
    return errors;
  }

 private:
  Seen seen_;
};

Elements length_of(const at::Tensor& tensor, std::int64_t dimension) {
  return Elements(static_cast<std::uint64_t>(tensor.size(dimension)));
}

// The nodes of backward, in the order of a walk from the loss.
struct Graph {
  std::vector<Node*> nodes;
  std::unordered_map<Node*, int> edges_into;
};

Graph graph_of(const at::Tensor& loss) {
  Graph graph;
  graph.nodes.push_back(loss.grad_fn().get());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    for (const auto& edge : graph.nodes[i]->next_edges())
      if (edge.function && graph.edges_into[edge.function.get()]++ == 0)
        graph.nodes.push_back(edge.function.get());
  return graph;
}

}  // namespace

Factors factors_of(const at::Tensor& error, const at::Tensor& input) {
  return {length_of(input, 0), length_of(error, 1), length_of(input, 1), memory_of(error),
          memory_of(input)};
}

void watch_factors(const at::Tensor& loss, const std::vector<std::shared_ptr<Node>>& nodes,
                   Product product, const FactorsSeen& seen) {
  constexpr std::size_t kWeight = 2;  // the edge of an Addmm that leads to its second matrix
  const Graph graph = graph_of(loss);
  std::vector<Node*> found;
  for (Node* const node : graph.nodes) {
    auto* const addmm = dynamic_cast<torch::autograd::generated::AddmmBackward0*>(node);
    if (addmm == nullptr || addmm->alpha.to<double>() != 1) continue;
    Node* const transpose = node->next_edge(kWeight).function.get();
    if (transpose == nullptr || transpose->name() != "TBackward0") continue;
    const auto it = std::ranges::find(nodes, transpose->next_edge(0).function);
    if (it == nodes.end()) continue;
    // The gradient of a weight that is used twice is a sum of two products.
    if (graph.edges_into.at(transpose) != 1 || graph.edges_into.at(it->get()) != 1) continue;
    const auto i = static_cast<std::size_t>(it - nodes.begin());
    node->add_pre_hook(std::make_unique<ErrorHook>(
        [addmm, i, seen](const at::Tensor& error) { seen(i, error, addmm->mat1_.unpack()); }));
    found.push_back(node);
  }
  if (product == Product::Autograd) return;
  for (Node* const node : found) node->next_edges()[kWeight] = {};
}

}  // namespace shoal
