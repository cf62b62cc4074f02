#include "learner/torch/model.h"

#include <torch/nn/functional/loss.h>

#include <algorithm>

namespace shoal {
namespace {

// libtorch takes no const memory; inputs are never written.
template <class T>
at::Tensor view_of(const std::vector<T>& data, at::IntArrayRef sizes) {
  return at::from_blob(const_cast<T*>(data.data()), sizes, at::CppTypeToScalarType<T>::value);
}

}  // namespace

at::Tensor TorchModel::loss(const at::Tensor& output, const BatchTensors& batch) {
  switch (target) {
    case TargetKind::Classes: return at::cross_entropy_loss(output, batch.target);
    case TargetKind::Next:
      return at::cross_entropy_loss(output.flatten(0, 1), batch.target.flatten());
    case TargetKind::Values: return at::mse_loss(output, batch.target);
  }
  TORCH_CHECK(false, "target ", static_cast<int>(target));
}

BatchTensors tensors_of(const Batch& batch, const SampleShape& shape) {
  BatchTensors t;
  t.n = static_cast<std::int64_t>(batch.n);
  std::vector<std::int64_t> sizes{t.n};
  sizes.insert(sizes.end(), shape.shape.begin(), shape.shape.end());
  const auto pairs = static_cast<std::int64_t>(batch.indices.size());
  switch (shape.input) {
    case InputKind::Dense: t.input = view_of(batch.dense, sizes); break;
    case InputKind::Tokens: t.input = view_of(batch.tokens, sizes); break;
    case InputKind::Sparse:
      t.input = view_of(batch.indices, {pairs});
      t.weights = view_of(batch.weights, {pairs});
      t.offsets = view_of(batch.offsets, {t.n});  // without the last one, which is the end
      break;
  }
  switch (shape.target) {
    case TargetKind::Classes: t.target = view_of(batch.labels, {t.n}); break;
    case TargetKind::Next: t.target = view_of(batch.labels, sizes); break;
    case TargetKind::Values: t.target = view_of(batch.values, {t.n, shape.classes}); break;
  }
  return t;
}

Score score_of(const at::Tensor& output, const BatchTensors& batch, TargetKind target) {
  Score score;
  score.samples = static_cast<std::uint64_t>(batch.n);
  if (target == TargetKind::Values || output.dim() != batch.target.dim() + 1) return score;
  score.predictions = static_cast<std::uint64_t>(batch.target.numel());
  // By hand: four operations of libtorch took longer than a step of a small model.
  const at::Tensor rows = output.contiguous();
  const float* row = rows.data_ptr<float>();
  const auto* const labels = batch.target.data_ptr<std::int64_t>();
  const std::int64_t classes = output.size(-1);
  for (std::uint64_t i = 0; i < score.predictions; ++i, row += classes)
    score.correct += std::max_element(row, row + classes) - row == labels[i] ? 1 : 0;
  return score;
}

}  // namespace shoal
