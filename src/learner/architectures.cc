#include "learner/architectures.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <functional>

#include "base/error.h"
#include "base/nearest.h"

namespace shoal {
namespace {

using Layers = std::vector<LayerSize>;

constexpr std::uint64_t kClasses = 1000;

// Parameters of a convolution, besides its channels.
struct Conv {
  std::uint64_t kernel = 1, stride = 1, pad = 0, groups = 1;
  bool bias = true;
  bool norm = false;  // followed by batch normalization: scale and shift per channel
};

// The size of an image at some layer: `channels` of side x side.
struct Image {
  Layers& layers;
  std::uint64_t channels = 3, side = 224;

  void conv(const std::string& name, std::uint64_t out, const Conv& c) {
    side = (side + 2 * c.pad - c.kernel) / c.stride + 1;
    const std::uint64_t weights = c.kernel * c.kernel * channels / c.groups * out;
    const std::uint64_t more = (c.bias ? out : 0) + (c.norm ? 2 * out : 0);
    layers.push_back(
        {name, Elements(weights + more), 2.0 * static_cast<double>(weights * side * side)});
    channels = out;
  }
  // Adds batch normalization as a layer of its own.
  void norm(const std::string& name) { layers.push_back({name, Elements(2 * channels), 0}); }
  void pool(std::uint64_t kernel, std::uint64_t stride, std::uint64_t pad, bool up = false) {
    const std::uint64_t room = side + 2 * pad - kernel;
    side = (room + (up ? stride - 1 : 0)) / stride + 1;
  }
  void full(const std::string& name, std::uint64_t out) {
    const std::uint64_t weights = channels * side * side * out;
    layers.push_back({name, Elements(weights + out), 2.0 * static_cast<double>(weights)});
    channels = out;
    side = 1;
  }
  void mean() { side = 1; }
};

Layers alexnet() {
  Layers layers;
  Image x{layers, 3, 227};
  x.conv("conv1", 96, {.kernel = 11, .stride = 4});
  x.pool(3, 2, 0);
  x.conv("conv2", 256, {.kernel = 5, .pad = 2, .groups = 2});
  x.pool(3, 2, 0);
  x.conv("conv3", 384, {.kernel = 3, .pad = 1});
  x.conv("conv4", 384, {.kernel = 3, .pad = 1, .groups = 2});
  x.conv("conv5", 256, {.kernel = 3, .pad = 1, .groups = 2});
  x.pool(3, 2, 0);
  x.full("fc6", 4096);
  x.full("fc7", 4096);
  x.full("fc8", kClasses);
  return layers;
}

Layers vgg_a() {
  Layers layers;
  Image x{layers};
  const std::array<std::vector<std::uint64_t>, 5> blocks = {
      {{64}, {128}, {256, 256}, {512, 512}, {512, 512}}};
  for (const std::vector<std::uint64_t>& block : blocks) {
    for (const std::uint64_t width : block)
      x.conv(fmt::format("conv{}", layers.size() + 1), width, {.kernel = 3, .pad = 1});
    x.pool(2, 2, 0);
  }
  x.full("fc1", 4096);
  x.full("fc2", 4096);
  x.full("fc3", kClasses);
  return layers;
}

// Four parallel branches: 1x1; 1x1 to 3x3; 1x1 to 5x5; pooled, then 1x1.
struct Inception {
  std::uint64_t one, three_in, three, five_in, five, pooled;
};

Layers googlenet() {
  Layers layers;
  Image x{layers};
  x.conv("conv1", 64, {.kernel = 7, .stride = 2, .pad = 3});
  x.pool(3, 2, 0, true);
  x.conv("conv2", 64, {});
  x.conv("conv3", 192, {.kernel = 3, .pad = 1});
  x.pool(3, 2, 0, true);
  const auto block = [&](const std::string& name, const Inception& w) {
    const std::uint64_t in = x.channels;
    const auto way = [&](const char* which, std::uint64_t out, const Conv& c, std::uint64_t from) {
      x.channels = from;
      x.conv(fmt::format("{}.{}", name, which), out, c);
    };
    way("1x1", w.one, {}, in);
    way("3x3 reduce", w.three_in, {}, in);
    way("3x3", w.three, {.kernel = 3, .pad = 1}, w.three_in);
    way("5x5 reduce", w.five_in, {}, in);
    way("5x5", w.five, {.kernel = 5, .pad = 2}, w.five_in);
    way("pool", w.pooled, {}, in);
    x.channels = w.one + w.three + w.five + w.pooled;
  };
  block("3a", {64, 96, 128, 16, 32, 32});
  block("3b", {128, 128, 192, 32, 96, 64});
  x.pool(3, 2, 0, true);
  block("4a", {192, 96, 208, 16, 48, 64});
  block("4b", {160, 112, 224, 24, 64, 64});
  block("4c", {128, 128, 256, 24, 64, 64});
  block("4d", {112, 144, 288, 32, 64, 64});
  block("4e", {256, 160, 320, 32, 128, 128});
  x.pool(3, 2, 0, true);
  block("5a", {256, 160, 320, 32, 128, 128});
  block("5b", {384, 192, 384, 48, 128, 128});
  x.mean();
  x.full("fc", kClasses);
  return layers;
}

// Bottlenecks: 1x1 to a narrow middle, 3x3 there, 1x1 to four times its width.
Layers resnet(const std::array<std::uint64_t, 4>& blocks) {
  Layers layers;
  Image x{layers};
  x.conv("conv1", 64, {.kernel = 7, .stride = 2, .pad = 3, .bias = false, .norm = true});
  x.pool(3, 2, 1);
  std::uint64_t width = 64;
  for (std::size_t stage = 0; stage < blocks.size(); ++stage, width *= 2) {
    for (std::uint64_t b = 0; b < blocks[stage]; ++b) {
      const std::string name = fmt::format("{}.{}", stage + 1, b + 1);
      const std::uint64_t stride = stage > 0 && b == 0 ? 2 : 1;
      Image side = x;
      const bool changes = side.channels != 4 * width;
      x.conv(name + " in", width, {.bias = false, .norm = true});
      x.conv(name + " 3x3", width,
             {.kernel = 3, .stride = stride, .pad = 1, .bias = false, .norm = true});
      x.conv(name + " out", 4 * width, {.bias = false, .norm = true});
      if (changes)
        side.conv(name + " shortcut", 4 * width, {.stride = stride, .bias = false, .norm = true});
    }
  }
  x.mean();
  x.full("fc", kClasses);
  return layers;
}

// Every layer of a block adds 32 channels to all channels before it.
Layers densenet_121() {
  constexpr std::uint64_t kGrowth = 32;
  Layers layers;
  Image x{layers};
  x.conv("conv0", 64, {.kernel = 7, .stride = 2, .pad = 3, .bias = false, .norm = true});
  x.pool(3, 2, 1);
  const std::array<std::uint64_t, 4> blocks = {6, 12, 24, 16};
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    for (std::uint64_t i = 0; i < blocks[b]; ++i) {
      const std::string name = fmt::format("{}.{}", b + 1, i + 1);
      const std::uint64_t in = x.channels;
      x.norm(name + " norm");
      x.conv(name + " 1x1", 4 * kGrowth, {.bias = false, .norm = true});
      x.conv(name + " 3x3", kGrowth, {.kernel = 3, .pad = 1, .bias = false});
      x.channels = in + kGrowth;
    }
    x.norm(fmt::format("{} norm", b + 1));
    if (b + 1 == blocks.size()) break;
    x.conv(fmt::format("{} transition", b + 1), x.channels / 2, {.bias = false});
    x.pool(2, 2, 0);
  }
  x.mean();
  x.full("fc", kClasses);
  return layers;
}

// The output shares the weights of the embedding.
Layers gpt2_small() {
  constexpr std::uint64_t kTokens = 1024, kWidth = 768, kWords = 50257, kBlocks = 12;
  Layers layers;
  const auto linear = [&](const std::string& name, std::uint64_t in, std::uint64_t out,
                          double more_flops) {
    const std::uint64_t weights = in * out;
    layers.push_back(
        {name, Elements(weights + out), 2.0 * static_cast<double>(weights * kTokens) + more_flops});
  };
  const auto norm = [&](const std::string& name) {
    layers.push_back({name, Elements(2 * kWidth), 0});
  };
  layers.push_back({"embedding", Elements((kWords + kTokens) * kWidth), 0});
  // Scores of all pairs of tokens, and their weighted sums.
  const double attention = 2 * 2.0 * static_cast<double>(kTokens * kTokens * kWidth);
  for (std::uint64_t b = 1; b <= kBlocks; ++b) {
    const std::string name = fmt::format("{} ", b);
    norm(name + "norm 1");
    linear(name + "attention in", kWidth, 3 * kWidth, 0);
    linear(name + "attention out", kWidth, kWidth, attention);
    norm(name + "norm 2");
    linear(name + "mlp in", kWidth, 4 * kWidth, 0);
    linear(name + "mlp out", 4 * kWidth, kWidth, 0);
  }
  norm("norm");
  layers.back().flops = 2.0 * static_cast<double>(kWords * kWidth * kTokens);
  return layers;
}

struct Named {
  std::string_view name;
  std::function<Layers()> make;
};

const std::vector<Named>& all() {
  static const std::vector<Named> named = {
      {"alexnet", alexnet},
      {"vgg-a", vgg_a},
      {"googlenet", googlenet},
      {"resnet-50",
       [] {
         return resnet({3, 4, 6, 3});
       }},
      {"resnet-152",
       [] {
         return resnet({3, 8, 36, 3});
       }},
      {"densenet-121", densenet_121},
      {"gpt2-small", gpt2_small},
  };
  return named;
}

}  // namespace

std::vector<std::string> architecture_names() {
  std::vector<std::string> names;
  for (const Named& one : all()) names.emplace_back(one.name);
  return names;
}

std::vector<LayerSize> architecture(std::string_view name) {
  const auto it = std::ranges::find(all(), name, &Named::name);
  if (it == all().end())
    throw ConfigError(fmt::format("'{}' is not a known architecture. {}", name,
                                  suggest(name, architecture_names())));
  return it->make();
}

}  // namespace shoal
