// The models of --model, each made to fit the given samples.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "learner/batch.h"
#include "learner/normalization.h"

namespace shoal {

class TorchModel;
// Makes the network with fresh parameters. Every call makes the same ones, because it seeds
// libtorch's generator first.
using ModelFactory = std::function<std::unique_ptr<TorchModel>()>;

// "lenet", "mlp:784-2048-2048-10", "resnet:20", "path/to/model.pt". Throws ConfigError: an unknown
// name (with the nearest known one), impossible sizes, unsuitable samples. The factory throws it if
// there is no layer to normalize.
ModelFactory model_factory(const std::string& spec, const SampleShape& shape,
                           Normalization normalization = {});

// By family. The arguments are the text after the colon, split at '-' or ','.
struct ModelArguments {
  std::string name;
  std::vector<std::int64_t> numbers;
  SampleShape shape;
};
ModelFactory simple_model(const ModelArguments& arguments);    // linear, mlp, autoencoder
ModelFactory vision_model(const ModelArguments& arguments);    // lenet, alexnet, vgg, resnet
ModelFactory language_model(const ModelArguments& arguments);  // lstm, gru, transformer
ModelFactory script_model(const std::string& file);

// Throw ConfigError if there are arguments, or the samples are unsuitable.
void require_images(const ModelArguments& arguments);
std::int64_t features_of(const SampleShape& shape);

}  // namespace shoal
