// linear, mlp and autoencoder.
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>

#include "base/error.h"
#include "learner/torch/models.h"
#include "learner/torch/module.h"

namespace shoal {

ModuleModel::Parts parts_of(torch::nn::Module& module) {
  ModuleModel::Parts parts;
  parts.module = module.shared_from_this();
  for (const auto& item : module.named_parameters())
    parts.parameters.push_back({item.key(), item.value()});
  for (const auto& item : module.named_buffers())
    parts.buffers.push_back({item.key(), item.value()});
  parts.train = [&module](bool on) { module.train(on); };
  return parts;
}

namespace {

// One affine map.
struct Linear final : torch::nn::Module {
  Linear(std::int64_t features, std::int64_t outputs)
      : fc(register_module("fc", torch::nn::Linear(features, outputs))) {
    // Starts from zero, because the problem is convex.
    const torch::NoGradGuard no_grad;
    fc->weight.zero_();
    fc->bias.zero_();
  }
  at::Tensor forward(const at::Tensor& x) { return fc->forward(x.flatten(1)); }
  torch::nn::Linear fc;
};

// The same for a few (index, value) pairs: the weighted sum of their rows. Only these rows have a
// gradient.
struct SparseLinear final : torch::nn::Module {
  SparseLinear(std::int64_t features, std::int64_t outputs)
      : weight(register_parameter("weight", at::zeros({features, outputs}))),
        bias(register_parameter("bias", at::zeros({outputs}))) {}
  at::Tensor forward(const BatchTensors& batch) {
    constexpr std::int64_t kSum = 0;
    const auto sums =
        at::embedding_bag(weight, batch.input, batch.offsets, false, kSum, true, batch.weights);
    return std::get<0>(sums) + bias;
  }
  at::Tensor weight, bias;
};

// Fully connected layers with ReLU between them.
struct Layers final : torch::nn::Module {
  explicit Layers(const std::vector<std::int64_t>& sizes) {
    for (std::size_t i = 0; i + 1 < sizes.size(); ++i)
      layers.push_back(
          register_module("fc" + std::to_string(i + 1), torch::nn::Linear(sizes[i], sizes[i + 1])));
  }
  at::Tensor forward(const at::Tensor& input) {
    at::Tensor x = input.flatten(1);
    for (std::size_t i = 0; i < layers.size(); ++i) {
      x = layers[i]->forward(x);
      if (i + 1 < layers.size()) x = x.relu();
    }
    return x;
  }
  std::vector<torch::nn::Linear> layers;
};

std::unique_ptr<TorchModel> make_sparse_linear(std::int64_t features, std::int64_t outputs) {
  auto module = std::make_shared<SparseLinear>(features, outputs);
  ModuleModel::Parts parts = parts_of(*module);
  parts.forward = [module](const BatchTensors& batch) { return module->forward(batch); };
  return std::make_unique<ModuleModel>(std::move(parts));
}

ModelFactory layers_factory(std::vector<std::int64_t> sizes) {
  return [sizes = std::move(sizes)] { return model_of(std::make_shared<Layers>(sizes)); };
}

ModelFactory mlp(const ModelArguments& a) {
  const std::int64_t features = features_of(a.shape);
  std::vector<std::int64_t> sizes = a.numbers;
  if (sizes.empty()) sizes = {features, 512, 512, a.shape.classes};
  if (sizes.size() < 2)
    throw ConfigError("--model mlp needs the sizes of its input and output: mlp:784-2048-10");
  if (sizes.front() != features)
    throw ConfigError(fmt::format("--model mlp: {} inputs, but a sample has {} numbers ({})",
                                  sizes.front(), features, describe(a.shape)));
  if (sizes.back() < a.shape.classes)
    throw ConfigError(fmt::format("--model mlp: {} outputs, but the data has {} classes",
                                  sizes.back(), a.shape.classes));
  return layers_factory(std::move(sizes));
}

// Learns to reconstruct its input through a narrow layer; labels are not used.
ModelFactory autoencoder(const ModelArguments& a) {
  const std::int64_t features = features_of(a.shape);
  std::vector<std::int64_t> inner = a.numbers;
  if (inner.empty()) inner = {256, 32};
  std::vector<std::int64_t> sizes{features};
  sizes.insert(sizes.end(), inner.begin(), inner.end());
  sizes.insert(sizes.end(), inner.rbegin() + 1, inner.rend());
  sizes.push_back(features);
  return [sizes] {
    return model_of(std::make_shared<Layers>(sizes),
                    [](const at::Tensor& output, const BatchTensors& batch) {
                      return at::mse_loss(output, batch.input.flatten(1));
                    });
  };
}

}  // namespace

ModelFactory simple_model(const ModelArguments& a) {
  const std::int64_t features = features_of(a.shape);
  const std::int64_t outputs = a.shape.classes;
  if (a.name == "linear") {
    if (!a.numbers.empty()) throw ConfigError("--model linear takes no sizes");
    if (a.shape.input == InputKind::Sparse)
      return [=] { return make_sparse_linear(features, outputs); };
    if (a.shape.input == InputKind::Dense)
      return [=] { return model_of(std::make_shared<Linear>(features, outputs)); };
  }
  if (a.shape.input != InputKind::Dense)
    throw ConfigError(
        fmt::format("--model {} takes numbers; the data has {}", a.name, describe(a.shape)));
  return a.name == "mlp" ? mlp(a) : autoencoder(a);
}

}  // namespace shoal
