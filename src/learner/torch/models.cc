#include "learner/torch/models.h"

#include <fmt/core.h>

#include "base/error.h"
#include "base/nearest.h"
#include "base/parse.h"
#include "learner/torch/model.h"
#include "learner/torch/normalize.h"

namespace shoal {
namespace {

struct Family {
  const char* name;
  ModelFactory (*make)(const ModelArguments&);
};
constexpr Family kFamilies[] = {
    {"linear", simple_model},        {"mlp", simple_model},     {"autoencoder", simple_model},
    {"lenet", vision_model},         {"alexnet", vision_model}, {"vgg", vision_model},
    {"resnet", vision_model},        {"lstm", language_model},  {"gru", language_model},
    {"transformer", language_model},
};

std::vector<std::int64_t> numbers_in(const std::string& spec, std::string_view text) {
  constexpr NumberRange<std::int64_t> kSizes{1, 1'000'000};
  std::vector<std::int64_t> numbers;
  while (!text.empty()) {
    const std::string_view from_here = text;
    const auto n = take_number<std::int64_t>(text);
    const bool separated = text.empty() || text[0] == '-' || text[0] == ',';
    if (!n || !kSizes.contains(*n) || !separated)
      throw ConfigError(fmt::format(
          "--model {}: '{}' is not a list of sizes; write integers from 1 to 1000000, as in "
          "mlp:784-2048-2048-10",
          spec, from_here));
    numbers.push_back(*n);
    if (!text.empty()) text.remove_prefix(1);
  }
  return numbers;
}

bool is_script(const std::string& spec) {
  return spec.ends_with(".pt") || spec.ends_with(".pth") || spec.find('/') != std::string::npos;
}

ModelFactory plain_factory(const std::string& spec, const SampleShape& shape) {
  if (is_script(spec)) return script_model(spec);
  const std::size_t colon = spec.find(':');
  ModelArguments arguments;
  arguments.name = spec.substr(0, colon);
  arguments.shape = shape;
  std::vector<std::string> names;
  for (const Family& family : kFamilies) names.emplace_back(family.name);
  for (const Family& family : kFamilies) {
    if (arguments.name != family.name) continue;
    if (colon != std::string::npos)
      arguments.numbers = numbers_in(spec, std::string_view(spec).substr(colon + 1));
    return family.make(arguments);
  }
  throw ConfigError(fmt::format("--model {}: unknown. {} A TorchScript file ends in .pt.", spec,
                                suggest(arguments.name, names)));
}

}  // namespace

ModelFactory model_factory(const std::string& spec, const SampleShape& shape,
                           Normalization normalization) {
  ModelFactory make = normalized(plain_factory(spec, shape), spec, normalization);
  if (is_script(spec)) return make;
  return [make = std::move(make)] {
    std::unique_ptr<TorchModel> model = make();
    model->by_operations = true;
    return model;
  };
}

void require_images(const ModelArguments& arguments) {
  if (arguments.shape.input == InputKind::Dense && arguments.shape.shape.size() == 3 &&
      arguments.shape.target == TargetKind::Classes)
    return;
  throw ConfigError(fmt::format("--model {} classifies images; the data has {}", arguments.name,
                                describe(arguments.shape)));
}

std::int64_t features_of(const SampleShape& shape) {
  std::int64_t n = 1;
  for (const std::int64_t d : shape.shape) n *= d;
  return n;
}

}  // namespace shoal
