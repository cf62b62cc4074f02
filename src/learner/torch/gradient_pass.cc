#include "learner/torch/gradient_pass.h"

#include <ATen/ops/empty_strided.h>
#include <ATen/ops/mm.h>

#include <cstring>

#include "base/error.h"

namespace shoal {
namespace {

// A tensor's memory, kept alive by the pointer.
template <class T>
std::shared_ptr<const T> memory_of(const at::Tensor& tensor) {
  auto holder = std::make_shared<at::Tensor>(tensor.contiguous());
  return {holder, holder->template data_ptr<T>()};
}

bool has_strides_of(const at::Tensor& tensor, const TensorEntry& entry) {
  for (std::size_t d = 0; d < entry.shape.size(); ++d)
    if (entry.shape[d] != 1 && tensor.stride(static_cast<std::int64_t>(d)) != entry.strides[d])
      return false;
  return true;
}

}  // namespace

std::vector<Bucket> cut_buckets(const Layout& layout, Bytes bucket_bytes,
                                const std::vector<bool>& alone) {
  std::vector<Bucket> buckets;
  bool full = true;
  for (std::size_t i = 0; i < layout.parameter_tensors().size(); ++i) {
    const TensorEntry& t = layout.parameter_tensors()[i];
    if (full || alone[i]) buckets.push_back({t.at, Elements(0), 0});
    Bucket& bucket = buckets.back();
    bucket.n += t.n;
    ++bucket.tensors;
    full = alone[i] || bucket.n.value() * sizeof(float) >= bucket_bytes.value();
  }
  return buckets;
}

GradientPass::GradientPass(const Layout& layout, const std::vector<Bucket>& buckets,
                           GradientTarget target, const Emit& emit, const Wanted& wanted)
    : layout_(layout),
      buckets_(buckets),
      target_(target),
      emit_(emit),
      wanted_(wanted),
      arrived_(layout.parameter_tensors().size()) {
  for (std::uint32_t b = 0; b < buckets_.size(); ++b) {
    left_.push_back(buckets_[b].tensors);
    bucket_of_.insert(bucket_of_.end(), buckets_[b].tensors, b);
    ready_.push_back(Ready{b, buckets_[b].at, buckets_[b].n});
  }
}

void GradientPass::expect(std::size_t i) {
  if (!wanted_()) throw Cancelled();
  SHOAL_CHECK(!arrived_[i], "the gradient of {} arrived twice", layout_.tensors()[i].name);
  arrived_[i] = true;
}

void GradientPass::done(std::size_t i) {
  --left_[bucket_of_[i]];
  while (next_ < left_.size() && left_[next_] == 0) emit_(next_++);
}

void GradientPass::arrived(std::size_t i, const at::Tensor& gradient) {
  expect(i);
  if (gradient.defined() && gradient.is_sparse()) {
    write_sparse(i, gradient);
  } else {
    write(layout_.tensors()[i], gradient);
  }
  done(i);
}

void GradientPass::arrived(std::size_t i, const at::Tensor& error, const at::Tensor& input) {
  expect(i);
  const TensorEntry& entry = layout_.tensors()[i];
  at::Tensor to = at::from_blob(target_.g.slice(entry.at, entry.n).data().data(), entry.shape);
  at::mm_out(to, error.t(), input);
  done(i);
}

void GradientPass::flush() {
  for (std::size_t i = 0; i < arrived_.size(); ++i)
    if (!arrived_[i]) arrived(i, at::Tensor());
}

void GradientPass::write(const TensorEntry& entry, const at::Tensor& gradient) {
  const std::size_t n = entry.n.value();
  if (target_.sink == nullptr) {
    float* const to = target_.g.slice(entry.at, entry.n).data().data();
    if (!gradient.defined()) {
      std::memset(to, 0, n * sizeof(float));
    } else if (has_strides_of(gradient, entry)) {
      std::memcpy(to, gradient.data_ptr<float>(), n * sizeof(float));
    } else {
      at::from_blob(to, entry.shape, entry.strides).copy_(gradient);
    }
    return;
  }
  if (gradient.defined() && has_strides_of(gradient, entry))
    return target_.sink->take(entry.at, {gradient.data_ptr<float>(), n});
  at::Tensor dense = at::empty_strided(entry.shape, entry.strides, at::kFloat);
  if (gradient.defined()) {
    dense.copy_(gradient);
  } else {
    dense.zero_();
  }
  target_.sink->take(entry.at, {dense.data_ptr<float>(), n});
}

void GradientPass::write_sparse(std::size_t i, const at::Tensor& gradient) {
  const TensorEntry& entry = layout_.tensors()[i];
  const at::Tensor sparse = gradient.coalesce();
  const at::Tensor rows = sparse.indices()[0].contiguous();
  const at::Tensor values = sparse.values().contiguous();
  at::Tensor dense = at::zeros(entry.shape, at::kFloat);
  if (target_.sink == nullptr) {
    dense = at::from_blob(target_.g.slice(entry.at, entry.n).data().data(), entry.shape);
    dense.zero_();
  }
  dense.index_copy_(0, rows, values);
  if (target_.sink != nullptr)
    target_.sink->take(entry.at, {dense.data_ptr<float>(), entry.n.value()});
  Ready& ready = ready_[bucket_of_[i]];
  if (buckets_[bucket_of_[i]].tensors != 1) return;
  const auto touched = static_cast<std::uint64_t>(rows.size(0));
  ready.sparse =
      SparseRows{Elements(touched),
                 Elements(touched == 0 ? 0 : static_cast<std::uint64_t>(values.numel()) / touched),
                 memory_of<std::int64_t>(rows), memory_of<float>(values)};
}

void GradientPass::set_factors(std::size_t i, Factors factors) {
  ready_[bucket_of_[i]].factors = std::move(factors);
}

Ready GradientPass::ready(std::uint32_t bucket) const { return ready_[bucket]; }

}  // namespace shoal
