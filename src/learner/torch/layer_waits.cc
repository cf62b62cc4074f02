#include "learner/torch/layer_waits.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>

#include <functional>
#include <memory>

namespace shoal {
namespace {

// libtorch calls a plain function.
thread_local LayerWaits* on_this_thread = nullptr;

}  // namespace

struct LayerWaitsImpl {
  static void wait_for(LayerWaits& waits, const at::Tensor& tensor) {
    if (!tensor.defined() || !tensor.has_storage() || tensor.scalar_type() != at::kFloat) return;
    const auto* const at = static_cast<const float*>(tensor.data_ptr());
    const float* const begin = waits.parameters_.data().data();
    const std::less<> before;
    if (before(at, begin) || !before(at, begin + waits.parameters_.n.value())) return;
    const Elements place(static_cast<std::uint64_t>(at - begin));
    (void)waits.gate_->waited(waits.env_, place, Elements(1));
  }

  static void wait_for(LayerWaits& waits, const at::IValue& input) {
    if (input.isTensor()) {
      wait_for(waits, input.toTensor());
    } else if (input.isTensorList()) {
      for (const at::Tensor& tensor : input.toTensorVector()) wait_for(waits, tensor);
    } else if (input.isList()) {
      for (const at::IValue& element : input.toListRef()) wait_for(waits, element);
    }
  }

  static std::unique_ptr<at::ObserverContext> begins(const at::RecordFunction& operation) {
    if (on_this_thread != nullptr)
      for (const at::IValue& input : operation.inputs()) wait_for(*on_this_thread, input);
    return nullptr;
  }
};

LayerWaits::LayerWaits(ParameterGate* gate, Env& env, Range parameters)
    : gate_(gate), env_(env), parameters_(parameters) {
  if (gate_ == nullptr) return;
  on_this_thread = this;
  at::RecordFunctionCallback callback(&LayerWaitsImpl::begins);
  callback.needsInputs(true).scopes({at::RecordScope::FUNCTION});
  handle_ = at::addThreadLocalCallback(callback);
}

LayerWaits::~LayerWaits() {
  if (gate_ == nullptr) return;
  at::removeCallback(handle_);
  on_this_thread = nullptr;
}

void LayerWaits::finish() {
  if (gate_ != nullptr) gate_->wait(env_, Elements(0), parameters_.n);
}

}  // namespace shoal
