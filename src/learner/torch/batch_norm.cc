#include "learner/torch/batch_norm.h"

#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>

namespace shoal {
namespace {

constexpr double kMomentum = 0.1;
constexpr double kEpsilon = 1e-5;

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Reshapes one number per channel for tensors of (samples, channels, height, width).
at::Tensor wide(const at::Tensor& by_channel) { return by_channel.view({1, -1, 1, 1}); }

at::Tensor tensor_of(std::span<const double> numbers) {
  return at::tensor(at::ArrayRef<double>(numbers.data(), numbers.size()), at::kFloat);
}

void put(std::span<double> to, const at::Tensor& from) {
  const at::Tensor numbers = from.to(at::kDouble).contiguous();
  std::copy_n(numbers.data_ptr<double>(), to.size(), to.begin());
}

// Holds the reducer for autograd.
struct NormCapsule final : torch::CustomClassHolder {
  explicit NormCapsule(NormContextPtr context) : norms(std::move(context)) {}
  NormContextPtr norms;
};

// y = weight (x - mean) / sqrt(var + epsilon) + bias, with mean and var over all workers' samples.
struct OverWorkers final : torch::autograd::Function<OverWorkers> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& bias, const at::Tensor& running_mean,
                            const at::Tensor& running_var, const NormContextPtr& norms) {
    const auto C = static_cast<std::size_t>(x.size(1));
    const double own = static_cast<double>(x.numel()) / static_cast<double>(C);
    const auto [own_var, own_mean] = at::var_mean(x, at::IntArrayRef{0, 2, 3}, false);
    std::vector<double> sums(2 * C + 1);
    const std::span<double> first(sums.data() + 1, C), second(sums.data() + 1 + C, C);
    sums[0] = own;
    put(first, own_mean);
    put(second, own_var);
    for (std::size_t c = 0; c < C; ++c) {
      second[c] = own * (second[c] + first[c] * first[c]);
      first[c] *= own;
    }
    norms->add_up(sums);
    const double count = sums[0];
    std::vector<double> inverse(C);
    for (std::size_t c = 0; c < C; ++c) {
      first[c] /= count;
      second[c] = std::max(0.0, second[c] / count - first[c] * first[c]);
      inverse[c] = 1 / std::sqrt(second[c] + kEpsilon);
    }
    const at::Tensor mean = tensor_of(first), inverse_deviation = tensor_of(inverse);
    running_mean.mul_(1 - kMomentum).add_(mean, kMomentum);
    running_var.mul_(1 - kMomentum).add_(tensor_of(second), kMomentum * count / (count - 1));

    context->save_for_backward({x, weight, mean, inverse_deviation});
    context->saved_data["count"] = count;
    context->saved_data["norms"] =
        c10::IValue::make_capsule(c10::make_intrusive<NormCapsule>(norms));
    const at::Tensor scale = weight * inverse_deviation;
    return at::addcmul(wide(bias - mean * scale), x, wide(scale));
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], &mean = saved[2], &inverse = saved[3];
    const at::Tensor& dy = gradients[0];
    const auto C = static_cast<std::size_t>(x.size(1));
    const at::Tensor unit = (x - wide(mean)) * wide(inverse);
    const at::Tensor dbias = dy.sum({0, 2, 3}), dweight = (dy * unit).sum({0, 2, 3});
    std::vector<double> sums(2 * C);
    const std::span<double> first(sums.data(), C), second(sums.data() + C, C);
    put(first, dbias);
    put(second, dweight);
    const auto capsule = context->saved_data["norms"].toCapsule();
    static_cast<NormCapsule*>(capsule.get())->norms->add_up(sums);
    const double count = context->saved_data["count"].toDouble();
    for (double& sum : sums) sum /= count;
    const at::Tensor dx =
        (dy - wide(tensor_of(first)) - unit * wide(tensor_of(second))) * wide(weight * inverse);
    return {dx, dweight, dbias, at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

// ---- Sums over workers

void NormContext::add_up(std::span<double> numbers) {
  if (noting) sizes.push_back(numbers.size());
  if (meeting != nullptr) meeting->add_up(numbers);
}

void NormContext::add_nothing() {
  if (meeting == nullptr) return;
  for (const std::size_t size : sizes) {
    std::vector<double> zeros(size, 0);
    meeting->add_up(zeros);
  }
}

// ---- The layer

BatchNorm2dImpl::BatchNorm2dImpl(std::int64_t channels)
    : weight_(register_parameter("weight", at::ones({channels}))),
      bias_(register_parameter("bias", at::zeros({channels}))),
      running_mean_(register_buffer("running_mean", at::zeros({channels}))),
      running_var_(register_buffer("running_var", at::ones({channels}))),
      batches_(register_buffer("num_batches_tracked", at::zeros({}, at::kLong))) {}

void BatchNorm2dImpl::choose(BatchNorm choice, NormContextPtr context) {
  choice_ = choice;
  context_ = std::move(context);
}

at::Tensor BatchNorm2dImpl::forward(const at::Tensor& x) {
  if (!is_training()) return normalize(x);
  switch (choice_.over) {
    case BatchNorm::Over::Local: break;
    case BatchNorm::Over::Group: return by_groups(x);
    case BatchNorm::Over::Workers:
      batches_.add_(1);
      return OverWorkers::apply(x, weight_, bias_, running_mean_, running_var_, context_);
  }
  return normalize(x);
}

at::Tensor BatchNorm2dImpl::normalize(const at::Tensor& x) {
  if (is_training()) {
    TORCH_CHECK(x.numel() > x.size(1),
                "one value for each channel has no variance: the batch of a "
                "worker, or a group of it, is too small");
    batches_.add_(1);
  }
  return at::batch_norm(x, weight_, bias_, running_mean_, running_var_, is_training(), kMomentum,
                        kEpsilon, at::globalContext().userEnabledCuDNN());
}

at::Tensor BatchNorm2dImpl::by_groups(const at::Tensor& x) {
  const std::int64_t n = x.size(0), K = choice_.group;
  const std::int64_t groups = std::max<std::int64_t>(1, (n + K / 2) / K);
  if (groups == 1) return normalize(x);
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(groups), n / groups);
  for (std::int64_t i = 0; i < n % groups; ++i) ++sizes[static_cast<std::size_t>(i)];
  std::vector<at::Tensor> parts;
  for (const at::Tensor& group : x.split_with_sizes(sizes)) parts.push_back(normalize(group));
  return at::cat(parts);
}

}  // namespace shoal
