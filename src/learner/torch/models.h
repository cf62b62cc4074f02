// The models that --model names, each made to fit the samples it is given.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "learner/batch.h"
#include "learner/normalization.h"

namespace shoal {

class TorchModel;
// Makes the network anew, with fresh parameters: every call gives the same ones, because libtorch's
// generator is seeded before each.
using ModelFactory = std::function<std::unique_ptr<TorchModel>()>;

// "lenet", "mlp:784-2048-2048-10", "resnet:20", "path/to/model.pt". Throws ConfigError: an unknown
// name (with the nearest known one), sizes that cannot be, samples that this model cannot take. The
// factory does so where a layer to normalize is missing.
ModelFactory model_factory(const std::string& spec, const SampleShape& shape,
                           Normalization normalization = {});

// By family. The arguments are what follows the colon, split at '-' or ','.
struct ModelArguments {
  std::string name;
  std::vector<std::int64_t> numbers;
  SampleShape shape;
};
ModelFactory simple_model(const ModelArguments& arguments);    // linear, mlp, autoencoder
ModelFactory vision_model(const ModelArguments& arguments);    // lenet, alexnet, vgg, resnet
ModelFactory language_model(const ModelArguments& arguments);  // lstm, gru, transformer
ModelFactory script_model(const std::string& file);

// REQUIRES: the numbers are there; throws ConfigError otherwise.
void require_images(const ModelArguments& arguments);
std::int64_t features_of(const SampleShape& shape);

}  // namespace shoal
