#include "learner/torch/normalize.h"

#include <ATen/ops/_weight_norm.h>
#include <ATen/ops/norm_except_dim.h>
#include <fmt/core.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include <algorithm>

#include "base/error.h"
#include "learner/torch/batch_norm.h"
#include "learner/torch/model.h"

namespace shoal {
namespace {

void normalize_batches(ModuleModel::Parts& parts, const std::string& name, BatchNorm choice) {
  auto context = std::make_shared<NormContext>();
  bool any = false;
  for (const auto& module : parts.module->modules()) {
    auto* const norm = module->as<BatchNorm2d>();
    if (norm == nullptr) continue;
    norm->choose(choice, context);
    any = true;
  }
  if (!any)
    throw ConfigError(fmt::format(
        "--batch-norm {}: --model {} has no batch normalization; vgg and resnet have it",
        to_string(choice), name));
  parts.norms = std::move(context);
}

// The layer's own weight is no longer a parameter: every forward pass computes it.
struct NormedWeight {
  at::Tensor* weight;  // of the layer
  at::Tensor g, v;
};

void normalize_weights(ModuleModel::Parts& parts, const std::string& name) {
  std::vector<NormedWeight> weights;
  std::vector<NamedTensor> parameters;
  const auto modules = parts.module->named_modules("", false);
  for (const NamedTensor& t : parts.parameters) {
    constexpr std::string_view kWeight = ".weight";
    at::Tensor* own = nullptr;
    if (t.name.ends_with(kWeight)) {
      const auto& module = modules[t.name.substr(0, t.name.size() - kWeight.size())];
      if (auto* const linear = module->as<torch::nn::Linear>()) own = &linear->weight;
      if (auto* const convolution = module->as<torch::nn::Conv2d>()) own = &convolution->weight;
    }
    if (own == nullptr) {
      parameters.push_back(t);
      continue;
    }
    const at::Tensor v = t.tensor.detach().clone();
    const at::Tensor g = at::norm_except_dim(v, 2, 0);
    if (g.min().item<float>() == 0)
      throw ConfigError(
          fmt::format("--weight-norm: {} of --model {} begins with zeros, which have no direction",
                      t.name, name));
    weights.push_back({own, g.requires_grad_(), v.requires_grad_()});
    parameters.push_back({t.name + "_g", g});
    parameters.push_back({t.name + "_v", v});
  }
  if (weights.empty())
    throw ConfigError(
        fmt::format("--weight-norm: --model {} has no fully connected or convolutional layer of "
                    "its own",
                    name));
  parts.parameters = std::move(parameters);
  parts.forward = [weights, forward = std::move(parts.forward)](const BatchTensors& batch) {
    for (const NormedWeight& w : weights) *w.weight = at::_weight_norm(w.v, w.g, 0);
    return forward(batch);
  };
}

std::unique_ptr<TorchModel> normalize(std::unique_ptr<TorchModel> model, const std::string& name,
                                      Normalization choice) {
  auto* const network = dynamic_cast<ModuleModel*>(model.get());
  if (network == nullptr)
    throw ConfigError(fmt::format(
        "--batch-norm {}{}: {} is a script with layers of its own; normalize them there",
        to_string(choice.batch_norm), choice.weight_norm ? " --weight-norm" : "", name));
  ModuleModel::Parts parts = network->take_parts();
  if (choice.batch_norm != BatchNorm{}) normalize_batches(parts, name, choice.batch_norm);
  if (choice.weight_norm) normalize_weights(parts, name);
  return std::make_unique<ModuleModel>(std::move(parts));
}

}  // namespace

ModelFactory normalized(ModelFactory make, std::string name, Normalization choice) {
  if (choice == Normalization{}) return make;
  return [make = std::move(make), name = std::move(name), choice] {
    return normalize(make(), name, choice);
  };
}

}  // namespace shoal
