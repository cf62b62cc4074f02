// A network for the torch learner: a torch::nn::Module, or a TorchScript file.
#pragma once

#include <torch/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "learner/batch.h"
#include "learner/learner.h"
#include "learner/torch/models.h"

namespace torch::nn {
class Module;
}

namespace shoal {

class NormContext;

struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

// A batch as tensors; views of a Batch, which outlives them.
struct BatchTensors {
  std::int64_t n = 0;
  at::Tensor input;             // numbers or symbols; Sparse: indices of the pairs
  at::Tensor offsets, weights;  // Sparse
  at::Tensor target;            // labels or values
};

// Thread safety: none. parameters() and buffers() return the network's own tensors: setting their
// data moves the network to other memory.
class TorchModel {
 public:
  virtual ~TorchModel() = default;
  virtual std::vector<NamedTensor> parameters() = 0;
  virtual std::vector<NamedTensor> buffers() = 0;
  virtual void train(bool on) = 0;
  virtual at::Tensor forward(const BatchTensors& batch) = 0;
  // The mean over the batch. Determined by the kind of target, unless the network overrides it.
  virtual at::Tensor loss(const at::Tensor& output, const BatchTensors& batch);

  // For layers that reduce over workers; null if there are none.
  virtual NormContext* norms() { return nullptr; }

  TargetKind target = TargetKind::Classes;
  // Only operations of libtorch read parameters, never addresses.
  bool by_operations = false;
};

// Wraps any module whose forward takes one tensor and returns one.
class ModuleModel : public TorchModel {
 public:
  using Forward = std::function<at::Tensor(const BatchTensors&)>;
  using Loss = std::function<at::Tensor(const at::Tensor& output, const BatchTensors&)>;
  struct Parts {
    std::shared_ptr<torch::nn::Module> module;
    std::vector<NamedTensor> parameters, buffers;
    std::function<void(bool)> train;
    Forward forward;
    Loss loss;                           // may be empty
    std::shared_ptr<NormContext> norms;  // may be null
  };
  explicit ModuleModel(Parts parts) : parts_(std::move(parts)) {}
  // Rebuild from these; the object is invalid afterwards.
  Parts take_parts() { return std::move(parts_); }
  NormContext* norms() override { return parts_.norms.get(); }

  std::vector<NamedTensor> parameters() override { return parts_.parameters; }
  std::vector<NamedTensor> buffers() override { return parts_.buffers; }
  void train(bool on) override { parts_.train(on); }
  at::Tensor forward(const BatchTensors& batch) override { return parts_.forward(batch); }
  at::Tensor loss(const at::Tensor& output, const BatchTensors& batch) override {
    return parts_.loss ? parts_.loss(output, batch) : TorchModel::loss(output, batch);
  }

 private:
  Parts parts_;
};

BatchTensors tensors_of(const Batch& batch, const SampleShape& shape);
// The number of predictions in the output, and of right ones. None for real values.
Score score_of(const at::Tensor& output, const BatchTensors& batch, TargetKind target);

}  // namespace shoal
