// Networks for images.
//
// lenet: LeCun et al. 1998, in the size that is common today. alexnet: Krizhevsky et al. 2012, in
// its one-column form. vgg: Simonyan & Zisserman 2015, configurations A (11) and D (16) with batch
// normalization. resnet: He et al. 2016, arXiv:1512.03385: 20, 32 and 56 as in its section 4.2 for
// small images (identity shortcuts padded with zeros), 18 as in its section 4.1.
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include "base/error.h"
#include "learner/torch/batch_norm.h"
#include "learner/torch/models.h"
#include "learner/torch/module.h"

namespace shoal {
namespace {

torch::nn::Conv2dOptions convolution(std::int64_t in, std::int64_t out, std::int64_t kernel,
                                     std::int64_t stride = 1) {
  return torch::nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2);
}

struct LeNet final : torch::nn::Module {
  LeNet(const std::vector<std::int64_t>& image, std::int64_t classes)
      : conv1(register_module("conv1", torch::nn::Conv2d(convolution(image[0], 32, 5)))),
        conv2(register_module("conv2", torch::nn::Conv2d(convolution(32, 64, 5)))),
        fc1(register_module("fc1", torch::nn::Linear(64 * (image[1] / 4) * (image[2] / 4), 512))),
        fc2(register_module("fc2", torch::nn::Linear(512, classes))) {}
  at::Tensor forward(const at::Tensor& input) {
    at::Tensor x = at::max_pool2d(conv1->forward(input).relu_(), 2);
    x = at::max_pool2d(conv2->forward(x).relu_(), 2);
    x = fc1->forward(x.flatten(1)).relu_();
    return fc2->forward(x);
  }
  torch::nn::Conv2d conv1, conv2;
  torch::nn::Linear fc1, fc2;
};

// For images of 64 pixels and more; smaller ones get smaller strides in front.
struct AlexNet final : torch::nn::Module {
  AlexNet(const std::vector<std::int64_t>& image, std::int64_t classes)
      : large(image[1] >= 128),
        conv1(register_module(
            "conv1", torch::nn::Conv2d(torch::nn::Conv2dOptions(image[0], 64, large ? 11 : 5)
                                           .stride(large ? 4 : 1)
                                           .padding(2)))),
        conv2(register_module("conv2", torch::nn::Conv2d(convolution(64, 192, 5)))),
        conv3(register_module("conv3", torch::nn::Conv2d(convolution(192, 384, 3)))),
        conv4(register_module("conv4", torch::nn::Conv2d(convolution(384, 256, 3)))),
        conv5(register_module("conv5", torch::nn::Conv2d(convolution(256, 256, 3)))),
        cells(large ? 6 : 3),
        fc1(register_module("fc1", torch::nn::Linear(256 * cells * cells, 4096))),
        fc2(register_module("fc2", torch::nn::Linear(4096, 4096))),
        fc3(register_module("fc3", torch::nn::Linear(4096, classes))) {}
  at::Tensor pool(const at::Tensor& x) const {
    return large ? at::max_pool2d(x, 3, 2) : at::max_pool2d(x, 2);
  }
  at::Tensor forward(const at::Tensor& input) {
    at::Tensor x = pool(conv1->forward(input).relu_());
    x = pool(conv2->forward(x).relu_());
    x = conv3->forward(x).relu_();
    x = conv4->forward(x).relu_();
    x = pool(conv5->forward(x).relu_());
    x = at::adaptive_avg_pool2d(x, {cells, cells}).flatten(1);
    x = fc1->forward(at::dropout(x, 0.5, is_training())).relu_();
    x = fc2->forward(at::dropout(x, 0.5, is_training())).relu_();
    return fc3->forward(x);
  }
  bool large;
  torch::nn::Conv2d conv1, conv2, conv3, conv4, conv5;
  std::int64_t cells;
  torch::nn::Linear fc1, fc2, fc3;
};

struct Vgg final : torch::nn::Module {
  // 0 is a pool, a number a convolution with this many channels.
  Vgg(const std::vector<std::int64_t>& plan, const std::vector<std::int64_t>& image,
      std::int64_t classes)
      : plan_(plan) {
    std::int64_t channels = image[0];
    std::int64_t smallest = std::min(image[1], image[2]);
    for (const std::int64_t out : plan) {
      if (out == 0) {
        smallest /= 2;
        continue;
      }
      const std::string number = std::to_string(convs_.size() + 1);
      convs_.push_back(register_module(
          "conv" + number, torch::nn::Conv2d(convolution(channels, out, 3).bias(false))));
      norms_.push_back(register_module("norm" + number, BatchNorm2d(out)));
      channels = out;
    }
    if (smallest < 1)
      throw ConfigError(fmt::format("--model vgg halves an image five times; {}x{} is too small",
                                    image[1], image[2]));
    fc_ = register_module("fc", torch::nn::Linear(channels, classes));
  }
  at::Tensor forward(const at::Tensor& input) {
    at::Tensor x = input;
    std::size_t i = 0;
    for (const std::int64_t out : plan_) {
      if (out == 0) {
        x = at::max_pool2d(x, 2);
        continue;
      }
      x = norms_[i]->forward(convs_[i]->forward(x)).relu_();
      ++i;
    }
    return fc_->forward(at::adaptive_avg_pool2d(x, {1, 1}).flatten(1));
  }
  std::vector<std::int64_t> plan_;
  std::vector<torch::nn::Conv2d> convs_;
  std::vector<BatchNorm2d> norms_;
  torch::nn::Linear fc_{nullptr};
};

struct Block final : torch::nn::Module {
  Block(std::int64_t in, std::int64_t out, std::int64_t step, bool project)
      : stride(step),
        grown(out - in),
        conv1(
            register_module("conv1", torch::nn::Conv2d(convolution(in, out, 3, step).bias(false)))),
        norm1(register_module("norm1", BatchNorm2d(out))),
        conv2(register_module("conv2", torch::nn::Conv2d(convolution(out, out, 3).bias(false)))),
        norm2(register_module("norm2", BatchNorm2d(out))) {
    if (!project || (stride == 1 && grown == 0)) return;
    shortcut =
        register_module("shortcut", torch::nn::Conv2d(convolution(in, out, 1, step).bias(false)));
    shortcut_norm = register_module("shortcut_norm", BatchNorm2d(out));
  }
  at::Tensor short_way(const at::Tensor& x) {
    if (shortcut) return shortcut_norm->forward(shortcut->forward(x));
    if (stride == 1 && grown == 0) return x;
    const at::Tensor coarse = x.slice(2, 0, c10::nullopt, stride).slice(3, 0, c10::nullopt, stride);
    return at::constant_pad_nd(coarse, {0, 0, 0, 0, grown / 2, grown - grown / 2});
  }
  at::Tensor forward(const at::Tensor& x) {
    at::Tensor y = norm1->forward(conv1->forward(x)).relu_();
    y = norm2->forward(conv2->forward(y));
    return (y + short_way(x)).relu_();
  }
  std::int64_t stride, grown;
  torch::nn::Conv2d conv1;
  BatchNorm2d norm1;
  torch::nn::Conv2d conv2;
  BatchNorm2d norm2;
  torch::nn::Conv2d shortcut{nullptr};
  BatchNorm2d shortcut_norm{nullptr};
};

struct ResNetPlan {
  std::vector<std::int64_t> widths;
  std::int64_t blocks = 0;   // of each width
  bool large_image = false;  // begins with a 7x7 convolution and a pool
  bool project = false;      // shortcuts that change the size have weights
};

struct ResNet final : torch::nn::Module {
  ResNet(const ResNetPlan& plan, std::int64_t channels, std::int64_t classes)
      : large(plan.large_image),
        conv(register_module(
            "conv",
            torch::nn::Conv2d(
                convolution(channels, plan.widths[0], large ? 7 : 3, large ? 2 : 1).bias(false)))),
        norm(register_module("norm", BatchNorm2d(plan.widths[0]))),
        fc(register_module("fc", torch::nn::Linear(plan.widths.back(), classes))) {
    std::int64_t in = plan.widths[0];
    for (std::size_t stage = 0; stage < plan.widths.size(); ++stage) {
      for (std::int64_t b = 0; b < plan.blocks; ++b) {
        const std::int64_t stride = stage > 0 && b == 0 ? 2 : 1;
        blocks.push_back(
            register_module(fmt::format("stage{}_block{}", stage + 1, b + 1),
                            std::make_shared<Block>(in, plan.widths[stage], stride, plan.project)));
        in = plan.widths[stage];
      }
    }
    for (const auto& module : modules(false))
      if (auto* c = module->as<torch::nn::Conv2d>())
        torch::nn::init::kaiming_normal_(c->weight, 0, torch::kFanOut, torch::kReLU);
  }
  at::Tensor forward(const at::Tensor& input) {
    at::Tensor x = norm->forward(conv->forward(input)).relu_();
    if (large) x = at::max_pool2d(x, 3, 2, 1);
    for (const auto& block : blocks) x = block->forward(x);
    return fc->forward(at::adaptive_avg_pool2d(x, {1, 1}).flatten(1));
  }
  bool large;
  torch::nn::Conv2d conv;
  BatchNorm2d norm;
  torch::nn::Linear fc;
  std::vector<std::shared_ptr<Block>> blocks;
};

// The number after the colon, out of the allowed ones; by default the first.
std::int64_t depth_of(const ModelArguments& a, const std::vector<std::int64_t>& allowed) {
  if (a.numbers.empty()) return allowed.front();
  const bool known = std::find(allowed.begin(), allowed.end(), a.numbers[0]) != allowed.end();
  if (a.numbers.size() == 1 && known) return a.numbers[0];
  std::string list;
  for (const std::int64_t n : allowed) list += fmt::format("{}{}", list.empty() ? "" : ", ", n);
  throw ConfigError(fmt::format("--model {}:{}: the choices are {}", a.name, a.numbers[0], list));
}

void require_size(const ModelArguments& a, std::int64_t pixels) {
  if (a.shape.shape[1] >= pixels && a.shape.shape[2] >= pixels) return;
  throw ConfigError(fmt::format("--model {} needs images of at least {}x{} pixels; the data has {}",
                                a.name, pixels, pixels, describe(a.shape)));
}

ModelFactory resnet(const ModelArguments& a) {
  const std::int64_t depth = depth_of(a, {20, 32, 56, 18});
  ResNetPlan plan;
  if (depth == 18) {
    plan = {{64, 128, 256, 512}, 2, a.shape.shape[1] >= 64, true};
  } else {
    plan = {{16, 32, 64}, (depth - 2) / 6, false, false};
  }
  require_size(a, 8);
  return [plan, channels = a.shape.shape[0], classes = a.shape.classes] {
    return model_of(std::make_shared<ResNet>(plan, channels, classes));
  };
}

ModelFactory vgg(const ModelArguments& a) {
  std::vector<std::int64_t> plan;
  if (depth_of(a, {11, 16}) == 11) {
    plan = {64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0};
  } else {
    plan = {64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0};
  }
  require_size(a, 32);
  return [plan, image = a.shape.shape, classes = a.shape.classes] {
    return model_of(std::make_shared<Vgg>(plan, image, classes));
  };
}

}  // namespace

ModelFactory vision_model(const ModelArguments& a) {
  require_images(a);
  if (a.name == "resnet") return resnet(a);
  if (a.name == "vgg") return vgg(a);
  if (!a.numbers.empty()) throw ConfigError(fmt::format("--model {} takes no sizes", a.name));
  require_size(a, a.name == "lenet" ? 4 : 16);
  const bool is_lenet = a.name == "lenet";
  return [is_lenet, image = a.shape.shape, classes = a.shape.classes] {
    return is_lenet ? model_of(std::make_shared<LeNet>(image, classes))
                    : model_of(std::make_shared<AlexNet>(image, classes));
  };
}

}  // namespace shoal
