#include "api/samples.h"

#include <fmt/core.h>

#include <cstring>
#include <mutex>
#include <numeric>

#include "base/error.h"
#include "base/permutation.h"

namespace shoal {
namespace {

std::string text_of(at::IntArrayRef sizes) {
  std::string text;
  for (const std::int64_t d : sizes) text += (text.empty() ? "" : "x") + std::to_string(d);
  return text.empty() ? "no dimensions" : text;
}

std::vector<std::int64_t> sample_shape(const at::Tensor& tensor) {
  return tensor.sizes().slice(1).vec();
}

bool is_whole(const at::Tensor& t) {
  return t.scalar_type() == at::kLong || t.scalar_type() == at::kInt ||
         t.scalar_type() == at::kShort || t.scalar_type() == at::kChar;
}

void require_tensors(const Examples& examples, std::int64_t n) {
  const auto check = [n](const at::Tensor& t, const char* name) {
    if (!t.defined()) throw DataError(fmt::format("the dataset returned no tensor {}", name));
    if (t.dim() == 0 || t.size(0) != n)
      throw DataError(fmt::format("{} has shape {} for {} samples; its first dimension must be {}",
                                  name, text_of(t.sizes()), n, n));
    if (t.is_complex() || t.is_sparse())
      throw DataError(fmt::format("{} is {}; expected dense real numbers", name,
                                  t.is_sparse() ? "sparse" : "complex"));
  };
  check(examples.x, "x");
  check(examples.y, "y");
}

SampleShape shape_of(const Examples& examples, std::int64_t classes) {
  const at::Tensor& x = examples.x;
  const at::Tensor& y = examples.y;
  SampleShape shape;
  shape.shape = sample_shape(x);
  if (shape.shape.empty() || x.numel() == 0)
    throw DataError(
        fmt::format("x has shape {}: a sample has no features; x.unsqueeze(1) gives it "
                    "one",
                    text_of(x.sizes())));
  shape.input = is_whole(x) ? InputKind::Tokens : InputKind::Dense;
  shape.classes = classes;
  if (!is_whole(y) && y.scalar_type() != at::kByte) {
    shape.target = TargetKind::Values;
    shape.classes = y.numel() / y.size(0);
    if (shape.classes == 0)
      throw DataError(fmt::format("y has shape {}: there is no target", text_of(y.sizes())));
  } else if (y.dim() > 1 && shape.input == InputKind::Tokens && y.sizes() == x.sizes()) {
    shape.target = TargetKind::Next;
  } else if (y.dim() > 1) {
    throw DataError(
        fmt::format("labels y of shape {}: expected one per sample, or for symbols one per symbol. "
                    "Give other targets as floating-point numbers, with a loss of your own that "
                    "converts them back",
                    text_of(y.sizes())));
  }
  return shape;
}

template <class T>
void copy_out(const at::Tensor& tensor, std::vector<T>& to) {
  const at::Tensor t = tensor.detach().to(at::CppTypeToScalarType<T>::value).contiguous();
  to.resize(static_cast<std::size_t>(t.numel()));
  if (!to.empty()) std::memcpy(to.data(), t.template data_ptr<T>(), to.size() * sizeof(T));
}

// Gets samples, and checks that they are like the first.
class OwnSource final : public BatchSource {
 public:
  explicit OwnSource(std::shared_ptr<Samples> samples) : samples_(std::move(samples)) {
    const std::int64_t n = samples_->size();
    if (n <= 0) throw DataError("the dataset has no samples");
    size_ = static_cast<std::uint64_t>(n);
    const Examples first = get({0});
    shape_ = shape_of(first, samples_->classes());
    target_shape_ = sample_shape(first.y);
    whole_ = {is_whole(first.x), shape_.target != TargetKind::Values};
  }

  const SampleShape& shape() const override { return shape_; }
  std::uint64_t size() const override { return size_; }
  const std::vector<std::int64_t>& target_shape() const { return target_shape_; }

  void fill(std::uint64_t, std::span<const SampleId> samples, Batch& batch) const override {
    const std::vector<std::int64_t> ids(samples.begin(), samples.end());
    const Examples examples = get(ids);
    if (sample_shape(examples.x) != shape_.shape || sample_shape(examples.y) != target_shape_ ||
        is_whole(examples.x) != whole_.first ||
        (is_whole(examples.y) || examples.y.scalar_type() == at::kByte) != whole_.second)
      throw DataError(fmt::format(
          "sample {} and those with it have shapes {} and {} ({}, {}), unlike sample 0: {} and {}",
          ids.empty() ? 0 : ids.front(), text_of(sample_shape(examples.x)),
          text_of(sample_shape(examples.y)), c10::toString(examples.x.scalar_type()),
          c10::toString(examples.y.scalar_type()), text_of(shape_.shape), text_of(target_shape_)));
    batch.n = samples.size();
    if (whole_.first) {
      copy_out(examples.x, batch.tokens);
    } else {
      copy_out(examples.x, batch.dense);
    }
    if (whole_.second) {
      copy_out(examples.y, batch.labels);
      require_labels(batch.labels, ids);
    } else {
      copy_out(examples.y, batch.values);
    }
  }

 private:
  Examples get(const std::vector<std::int64_t>& ids) const {
    Examples examples;
    try {
      const torch::NoGradGuard no_grad;
      const std::lock_guard lock(mutex_);
      examples = samples_->get(ids);
    } catch (const Error&) {
      throw;
    } catch (const c10::Error& error) {
      const std::string text = error.what_without_backtrace();
      throw DataError("the dataset's get() failed: " + text.substr(0, text.find('\n')));
    } catch (const std::exception& error) {
      throw DataError(fmt::format("the dataset's get() failed: {}", error.what()));
    }
    require_tensors(examples, static_cast<std::int64_t>(ids.size()));
    return examples;
  }

  // libtorch's own error would not name the sample.
  void require_labels(const std::vector<std::int64_t>& labels,
                      const std::vector<std::int64_t>& ids) const {
    const std::size_t each = ids.empty() ? 1 : labels.size() / ids.size();
    for (std::size_t i = 0; i < labels.size(); ++i)
      if (labels[i] < 0 || (shape_.classes > 0 && labels[i] >= shape_.classes))
        throw DataError(fmt::format(
            "sample {} has label {}; labels are integers from 0{}", ids[i / each], labels[i],
            shape_.classes > 0 ? fmt::format(", below {}", shape_.classes) : ""));
  }

  std::shared_ptr<Samples> samples_;
  mutable std::mutex mutex_;
  std::uint64_t size_ = 0;
  SampleShape shape_;
  std::vector<std::int64_t> target_shape_;
  std::pair<bool, bool> whole_;  // x, y
};

// All samples in two tensors.
class TensorSamples final : public Samples {
 public:
  TensorSamples(at::Tensor x, at::Tensor y) : x_(std::move(x)), y_(std::move(y)) {}
  std::int64_t size() const override { return x_.defined() && x_.dim() > 0 ? x_.size(0) : 0; }
  Examples get(const std::vector<std::int64_t>& ids) override {
    const at::Tensor rows = at::tensor(ids, at::kLong);
    return {x_.index_select(0, rows), y_.index_select(0, rows)};
  }
  std::int64_t classes() const override {
    if (!is_whole(y_) && y_.scalar_type() != at::kByte) return 0;
    return y_.numel() == 0 ? 0 : y_.max().item<std::int64_t>() + 1;
  }
  void require_pairs(const char* what) const {
    if (!x_.defined() || !y_.defined())
      throw ConfigError(fmt::format("{}: x or y is an undefined tensor", what));
    const std::int64_t n = size();
    if (y_.dim() == 0 || y_.size(0) != n)
      throw ConfigError(
          fmt::format("{}: x has {} samples (shape {}), y has shape {}; there must "
                      "be one row of y for each of x",
                      what, n, text_of(x_.sizes()), text_of(y_.sizes())));
    if (n == 0) throw ConfigError(fmt::format("{}: x and y have no samples", what));
  }
  // Some of the samples, by number.
  std::shared_ptr<Samples> part(const std::vector<std::int64_t>& ids) {
    Examples examples = get(ids);
    return std::make_shared<TensorSamples>(std::move(examples.x), std::move(examples.y));
  }

 private:
  at::Tensor x_, y_;
};

// Tensors without a test set: some samples, drawn by the seed, are held out. This is the only copy
// of them.
Data hold_out(const Data& data, TensorSamples& all, Seed seed, double fraction) {
  const auto n = static_cast<std::uint64_t>(all.size());
  const auto held = static_cast<std::uint64_t>(static_cast<double>(n) * fraction);
  if (held == 0) return data;
  const Permutation order(n, Random(seed, Purpose::Holdout));
  std::vector<std::int64_t> train, test;
  for (std::uint64_t i = 0; i < n; ++i)
    (i < held ? test : train).push_back(static_cast<std::int64_t>(order.at(i)));
  return {.spec = "", .train = all.part(train), .test = all.part(test)};
}

}  // namespace

Data data(std::string spec) { return {.spec = std::move(spec), .train = {}, .test = {}}; }
Data data(std::shared_ptr<Samples> train, std::shared_ptr<Samples> test) {
  return {.spec = "", .train = std::move(train), .test = std::move(test)};
}
Data data(at::Tensor x, at::Tensor y) {
  return data(std::make_shared<TensorSamples>(std::move(x), std::move(y)));
}
Data data(at::Tensor x, at::Tensor y, at::Tensor test_x, at::Tensor test_y) {
  return data(std::make_shared<TensorSamples>(std::move(x), std::move(y)),
              std::make_shared<TensorSamples>(std::move(test_x), std::move(test_y)));
}

OwnData open_own_data(const Data& given, Seed seed, double test_fraction) {
  if (given.train == nullptr)
    throw ConfigError("Training::data is empty; give shoal::data(\"fashion-mnist\") or your own");
  Data data = given;
  if (auto* const tensors = dynamic_cast<TensorSamples*>(data.train.get())) {
    tensors->require_pairs("data");
    if (data.test == nullptr) data = hold_out(data, *tensors, seed, test_fraction);
  }
  if (auto* const tensors = dynamic_cast<TensorSamples*>(data.test.get()))
    tensors->require_pairs("test data");

  OwnData own;
  const auto train = std::make_shared<OwnSource>(data.train);
  own.target_shape = train->target_shape();
  own.dataset.train = train;
  own.dataset.name = "your own";
  if (data.test == nullptr) return own;
  const auto test = std::make_shared<OwnSource>(data.test);
  if (test->shape().shape != train->shape().shape ||
      test->shape().target != train->shape().target ||
      test->target_shape() != train->target_shape())
    throw ConfigError(fmt::format("the test data ({}) differs from the training data ({})",
                                  describe(test->shape()), describe(train->shape())));
  own.dataset.test = test;
  return own;
}

}  // namespace shoal
