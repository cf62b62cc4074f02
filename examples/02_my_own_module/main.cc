// Trains a network of your own with Shoal: the module, the loss, the data, and one call.
//
//   build/release/bin/example_02_my_own_module --epochs 2
//   build/release/bin/example_02_my_own_module --help
//
// To build it against an installed Shoal (cmake --install build/release --prefix P):
//
//   cmake -S examples/02_my_own_module -B mine -D CMAKE_PREFIX_PATH=P && cmake --build mine
#include <shoal/train.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

// An ordinary module of libtorch: forward takes a tensor and returns one.
struct MyNet : torch::nn::Module {
  explicit MyNet(int channels)
      : conv(register_module("conv", torch::nn::Conv2d(1, channels, 5))),
        out(register_module("out", torch::nn::Linear(channels * 12 * 12, 10))) {}

  at::Tensor forward(const at::Tensor& x) {
    return out(at::max_pool2d(at::relu(conv(x)), 2).flatten(1));
  }

  torch::nn::Conv2d conv;
  torch::nn::Linear out;
};

// Cross entropy with smoothed labels. The field .loss is optional: plain cross entropy is the
// default.
at::Tensor smoothed(const at::Tensor& output, const at::Tensor& target) {
  constexpr double kSmoothing = 0.05;
  return at::cross_entropy_loss(output, target, {}, at::Reduction::Mean, -100, kSmoothing);
}

int main(int argc, char** argv) {
  return shoal::train(argc, argv,
                      {.model = shoal::model<MyNet>(8),  // makes MyNet(8)
                       .loss = smoothed,
                       .data = shoal::data("fashion-mnist"),  // or tensors, or a class of yours
                       .epochs = 2});                         // --epochs takes precedence
}
