// Makes a TorchModel from a torch::nn::Module.
#pragma once

#include <torch/nn/module.h>

#include <memory>
#include <utility>

#include "learner/torch/model.h"

namespace shoal {

ModuleModel::Parts parts_of(torch::nn::Module& module);

// For a module whose forward takes one tensor and returns one.
template <class Module>
std::unique_ptr<TorchModel> model_of(std::shared_ptr<Module> module, ModuleModel::Loss loss = {}) {
  ModuleModel::Parts parts = parts_of(*module);
  parts.forward = [module](const BatchTensors& batch) { return module->forward(batch.input); };
  parts.loss = std::move(loss);
  return std::make_unique<ModuleModel>(std::move(parts));
}

}  // namespace shoal
