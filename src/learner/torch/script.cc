// TorchScript files as models.
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>
#include <torch/jit.h>

#include <stdexcept>

#include "base/error.h"
#include "learner/torch/model.h"

namespace shoal {
namespace {

class ScriptModel final : public TorchModel {
 public:
  explicit ScriptModel(torch::jit::Module module) : module_(std::move(module)) {}

  std::vector<NamedTensor> parameters() override {
    std::vector<NamedTensor> all;
    for (const auto& item : module_.named_parameters()) all.push_back({item.name, item.value});
    return all;
  }
  std::vector<NamedTensor> buffers() override {
    std::vector<NamedTensor> all;
    for (const auto& item : module_.named_buffers()) all.push_back({item.name, item.value});
    return all;
  }
  void train(bool on) override { module_.train(on); }
  at::Tensor forward(const BatchTensors& batch) override {
    const torch::jit::IValue output = run(batch.input);
    TORCH_CHECK(output.isTensor(), "forward gives a ", output.tagKind(), ", not a tensor");
    return output.toTensor();
  }

 private:
  // A failure inside a script is a std::runtime_error with the script's stack; the last line has
  // the message.
  torch::jit::IValue run(const at::Tensor& input) {
    try {
      return module_.forward({input});
    } catch (const std::runtime_error& error) {
      const std::string text = error.what();
      const std::size_t end = text.find_last_not_of('\n');
      const std::size_t begin = text.rfind('\n', end) + 1;
      TORCH_CHECK(false, text.substr(begin, end + 1 - begin));
    }
  }

  torch::jit::Module module_;
};

}  // namespace

ModelFactory script_model(const std::string& file) {
  // Otherwise subgraphs would become single nodes, and all gradients would come together at the
  // end.
  torch::jit::setGraphExecutorOptimize(false);
  return [file]() -> std::unique_ptr<TorchModel> {
    try {
      return std::make_unique<ScriptModel>(torch::jit::load(file));
    } catch (const c10::Error& error) {
      const std::string text = error.what_without_backtrace();
      throw ConfigError(
          fmt::format("--model {}: cannot read it as a TorchScript file: {}\n"
                      "Hint: write it with torch.jit.script(model).save('model.pt')",
                      file, text.substr(0, text.find('\n'))));
    }
  };
}

}  // namespace shoal
