// Start here: trains your own torch::nn::Module. A whole program:
//
//   #include <shoal/train.h>
//   #include <torch/nn.h>
//
//   struct MyNet : torch::nn::Module { ... at::Tensor forward(at::Tensor x); ... };
//
//   int main(int argc, char** argv) {
//     return shoal::train(argc, argv, {.model = shoal::model<MyNet>(10),  // makes MyNet(10)
//                                      .data = shoal::data("fashion-mnist")});
//   }
//
// It has the flags of `shoal train` (--epochs, --lr, --optimizer, --out, --resume, ..; see --help),
// shows its progress and leaves a run folder behind: summary, metrics, checkpoints.
// examples/02_my_own_module is such a program; docs/cpp-api.md says more.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include "shoal/error.h"
#include "shoal/update.h"

namespace shoal {

// ---- The network: any module whose forward takes one tensor and returns one

struct Model {
  struct Made {
    std::shared_ptr<torch::nn::Module> module;
    std::function<at::Tensor(const at::Tensor& x)> forward;
  };
  std::function<Made()> make;
  std::string name;  // for the records
};

namespace detail {
std::string plain_name(const std::type_info& type);

template <class Module>
Model::Made made(std::shared_ptr<Module> module) {
  return {module, [module](const at::Tensor& x) -> at::Tensor { return module->forward(x); }};
}
}  // namespace detail

// A model that is constructed when training begins, with the same parameters on every worker. The
// constructor's arguments are copied.
template <class Module, class... Arguments>
Model model(Arguments... arguments) {
  return {[=] { return detail::made(std::make_shared<Module>(arguments...)); },
          detail::plain_name(typeid(Module))};
}

// A model that exists already, trained in place from its current values: a pretrained one, for
// example, or a torch::nn::Sequential (its ptr()). If training throws, the model is unchanged.
template <class Module>
Model existing_model(std::shared_ptr<Module> module) {
  return {[module] { return detail::made(module); }, detail::plain_name(typeid(Module))};
}

// Returns the mean over the batch, one number.
using Loss = std::function<at::Tensor(const at::Tensor& output, const at::Tensor& target)>;

// ---- The data

struct Examples {
  at::Tensor x;  // n x ..: numbers (any floating type, bytes) or symbols (integers)
  at::Tensor y;  // n labels (integers), n x .. values (floating), or for symbols n x length
};

// Your own dataset: get() is called for one batch at a time, by one thread at a time.
class Samples {
 public:
  virtual ~Samples() = default;
  virtual std::int64_t size() const = 0;
  // The samples with these numbers, each from 0 to size() - 1. The shape of a sample never changes.
  virtual Examples get(const std::vector<std::int64_t>& ids) = 0;
  virtual std::int64_t classes() const { return 0; }  // the number of labels, if it is known
};

struct Data {
  std::string spec;  // empty: the data is in `train`
  std::shared_ptr<Samples> train;
  std::shared_ptr<Samples> test;
};

// A value of `shoal train --data`: "fashion-mnist", "csv:my.csv", "synthetic:blobs", ...
Data data(std::string spec);
// Tensors; Training::test_fraction of them is held out.
Data data(at::Tensor x, at::Tensor y);
Data data(at::Tensor x, at::Tensor y, at::Tensor test_x, at::Tensor test_y);
// Without a test set only the training loss is measured.
Data data(std::shared_ptr<Samples> train, std::shared_ptr<Samples> test = nullptr);

// ---- Training

// Omitted fields have the defaults of `shoal train`; the command line takes precedence.
struct Training {
  Model model;
  // Empty: cross entropy for labels, mean squared error for values.
  Loss loss = {};
  Data data;
  std::uint64_t epochs = 5;
  std::uint64_t steps = 0;  // above 0: this many steps, instead of epochs
  std::uint64_t batch = 64;
  std::uint64_t seed = 1;
  double test_fraction = 0.1;
  std::string optimizer = "auto";
  UpdateRule update = {};  // your own, in place of an optimizer; set eta as well
  double eta = 0;          // learning rate; 0: the optimizer's usual one
  std::string schedule = "cosine";
  std::string out = {};  // the run folder; empty: a new one in runs/
  bool quiet = false;
  std::vector<std::string> flags = {};  // any others: {"--clip-norm", "1", "--threads", "2"}
};

// Quantities that were not measured are NaN.
struct Trained {
  double train_loss, train_accuracy;  // mean of the last epoch; without a test set, of all epochs
  double test_loss, test_accuracy;    // at the end
  double seconds;                     // without evaluation
  std::uint64_t steps;                // in all, including those before a --resume
  bool stopped;                       // by a signal, before the last step
  std::string folder;
  std::string model_file;                     // safetensors, under the module's own names
  std::shared_ptr<torch::nn::Module> module;  // with the trained parameters
};

// Throws shoal::Error, a std::runtime_error: ConfigError if the request cannot be fulfilled,
// DataError if samples cannot be used or the loss is not a number.
Trained train(const Training& training);
// For the main function of a program: reads the command line, prints errors, returns the exit code:
// 0, 1 for a usage error, 3 when a signal ended it with a checkpoint, 127 for a failure.
int train(int argc, const char* const* argv, const Training& training);

}  // namespace shoal
