#include "learner/torch/torch_learner.h"

#include <ATen/CPUGeneratorImpl.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/autograd/grad_mode.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "learner/torch/allocator.h"
#include "learner/torch/batch_norm.h"
#include "learner/torch/compute.h"
#include "learner/torch/factors.h"
#include "learner/torch/gradient_pass.h"
#include "learner/torch/layer_waits.h"
#include "learner/torch/make.h"
#include "learner/torch/tensors.h"

namespace shoal {
namespace {

// This many samples show in which order gradients become ready, and whether network and data fit.
constexpr std::uint64_t kFirstLook = 8;

void seed_generator(Seed seed, Purpose purpose, std::uint64_t a, std::uint64_t b) {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard lock(generator.mutex());
  generator.set_current_seed(Random(seed, purpose, a, b).bits());
}

std::string first_line(const c10::Error& error) {
  const std::string text = error.what_without_backtrace();
  return text.substr(0, text.find('\n'));
}

}  // namespace

class TorchLearner::Impl {
 public:
  Impl(ModelFactory make, std::shared_ptr<const BatchSource> train,
       std::shared_ptr<const BatchSource> test, TorchLearnerOptions options);

  void initialize(Range state);
  // On the node's thread: makes the batch that was fetched ahead the present one.
  bool take_fetched(const Portion& portion);
  Task<void> fetch_ahead(Env& env, Portion portion);
  void step(Env& env, Range state, const GradientTarget& target, const Portion& portion,
            bool have_batch, GradientPass& pass, Score& score);
  // Whether a pass can wait between layers.
  bool waits_by_layer() const { return model_->by_operations; }
  Score evaluate(Range state, std::span<const SampleId> samples);
  void predict(Range state, std::span<const SampleId> samples, Predictions& all);
  at::Tensor output(Range state, std::span<const SampleId> samples);

  const TorchLearnerOptions options_;
  const ModelFactory make_;
  const std::shared_ptr<const BatchSource> train_, test_;
  Layout layout_;
  std::vector<Bucket> buckets_;

 private:
  // The hook of one parameter; libtorch owns it.
  class Hook final : public torch::autograd::FunctionPreHook {
   public:
    Hook(Impl& impl, std::size_t i) : impl_(&impl), i_(i) {}
    torch::autograd::variable_list operator()(
        const torch::autograd::variable_list& gradients) override {
      impl_->arrived(i_, gradients[0]);
      return {at::Tensor()};  // nothing is left to accumulate
    }

   private:
    Impl* impl_;
    std::size_t i_;
  };

  struct Tensors {
    std::vector<NamedTensor> parameters, buffers, side;
  };

  std::unique_ptr<TorchModel> make_model() const;
  static Tensors tensors_of_model(TorchModel& model);
  void arrived(std::size_t i, const at::Tensor& gradient);
  void hook_parameters();
  std::vector<std::size_t> order_of_gradients();
  void check_output(const at::Tensor& output, const BatchTensors& batch) const;
  void lay_out(const std::vector<std::size_t>& order);
  void bind(Range state);
  BatchTensors tensors_of_batch(const Batch& batch, const SampleShape& shape) const;
  at::Tensor forward(Env& env, Range state, const GradientTarget& target,
                     const BatchTensors& batch);
  void check_loss(double loss, const Portion& portion) const;
  void watch_layers(const at::Tensor& loss, GradientPass& pass) const;

  std::unique_ptr<TorchModel> model_;
  Tensors tensors_;                                            // in the order of the layout
  std::vector<std::shared_ptr<torch::autograd::Node>> nodes_;  // they hold the hooks; by parameter
  const float* bound_ = nullptr;
  GradientPass* pass_ = nullptr;               // while backward runs
  std::vector<std::size_t>* order_ = nullptr;  // while the order is recorded
  Batch batch_, eval_batch_;
  // Batches fetched ahead, in turn: the next may be requested before the last was taken.
  struct Fetched {
    Batch batch;
    Portion portion;
    bool ready = false;
    bool busy = false;  // being filled
  };
  class Busy {
   public:
    explicit Busy(Fetched& fetched) : fetched_(fetched) { fetched.busy = true; }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;
    ~Busy() { fetched_.busy = false; }

   private:
    Fetched& fetched_;
  };
  std::array<Fetched, 2> fetched_;
  std::size_t fetched_last_ = 0;
};

// ---- Making

TorchLearner::Impl::Impl(ModelFactory make, std::shared_ptr<const BatchSource> train,
                         std::shared_ptr<const BatchSource> test, TorchLearnerOptions options)
    : options_(options),
      make_(std::move(make)),
      train_(std::move(train)),
      test_(std::move(test)),
      model_(make_model()),
      tensors_(tensors_of_model(*model_)) {
  if (tensors_.parameters.empty())
    throw ConfigError("the model has no parameters that require a gradient");
  hook_parameters();
  lay_out(order_of_gradients());
}

std::unique_ptr<TorchModel> TorchLearner::Impl::make_model() const {
  seed_generator(options_.seed, Purpose::Init, 0, 0);
  std::unique_ptr<TorchModel> model = make_();
  model->target = train_->shape().target;
  return model;
}

TorchLearner::Impl::Tensors TorchLearner::Impl::tensors_of_model(TorchModel& model) {
  Tensors all;
  std::vector<const void*> known;  // a parameter may have two names; the first counts
  const auto is_new = [&](const NamedTensor& t) {
    const void* const identity = t.tensor.unsafeGetTensorImpl();
    if (std::ranges::find(known, identity) != known.end()) return false;
    known.push_back(identity);
    return true;
  };
  for (NamedTensor& t : model.parameters()) {
    if (!is_new(t)) continue;
    if (t.tensor.scalar_type() != at::kFloat)
      throw ConfigError(fmt::format("parameter {} of the model is {}; Shoal trains float32", t.name,
                                    c10::toString(t.tensor.scalar_type())));
    (t.tensor.requires_grad() ? all.parameters : all.buffers).push_back(t);
  }
  for (NamedTensor& t : model.buffers())
    if (is_new(t)) (t.tensor.scalar_type() == at::kFloat ? all.buffers : all.side).push_back(t);
  return all;
}

void TorchLearner::Impl::hook_parameters() {
  for (std::size_t i = 0; i < tensors_.parameters.size(); ++i) {
    auto node = torch::autograd::impl::grad_accumulator(tensors_.parameters[i].tensor);
    node->add_pre_hook(std::make_unique<Hook>(*this, i));
    nodes_.push_back(std::move(node));
  }
}

// Tries the network with the first samples; it is unchanged afterwards.
std::vector<std::size_t> TorchLearner::Impl::order_of_gradients() {
  std::vector<SampleId> samples(std::min(kFirstLook, train_->size()));
  std::iota(samples.begin(), samples.end(), SampleId{0});
  train_->fill(0, samples, batch_);
  std::vector<at::Tensor> before;
  for (const auto* group : {&tensors_.buffers, &tensors_.side})
    for (const NamedTensor& t : *group) before.push_back(t.tensor.clone());

  std::vector<std::size_t> order;
  order_ = &order;
  try {
    model_->train(true);
    if (model_->norms() != nullptr) model_->norms()->noting = true;
    const BatchTensors batch = tensors_of_batch(batch_, train_->shape());
    const at::Tensor output = model_->forward(batch);
    check_output(output, batch);
    const at::Tensor loss = model_->loss(output, batch);
    if (loss.dim() != 0) throw ConfigError("the loss is not one number; take its mean");
    loss.backward();
    if (model_->norms() != nullptr) model_->norms()->noting = false;
  } catch (const c10::Error& error) {
    throw ConfigError(fmt::format("the model does not fit the data ({}): {}",
                                  describe(train_->shape()), first_line(error)));
  }
  order_ = nullptr;

  const torch::NoGradGuard no_grad;
  auto kept = before.begin();
  for (auto* group : {&tensors_.buffers, &tensors_.side})
    for (NamedTensor& t : *group) t.tensor.copy_(*kept++);
  // Unused parameters come last.
  for (std::size_t i = 0; i < tensors_.parameters.size(); ++i)
    if (std::ranges::find(order, i) == order.end()) order.push_back(i);
  return order;
}

void TorchLearner::Impl::check_output(const at::Tensor& output, const BatchTensors& batch) const {
  const SampleShape& shape = train_->shape();
  if (shape.target == TargetKind::Values || output.dim() < 2) return;
  if (output.size(0) != batch.n)
    throw ConfigError(
        fmt::format("the model returns {} outputs for {} samples", output.size(0), batch.n));
  if (output.dim() == batch.target.dim() + 1 && output.size(-1) < shape.classes)
    throw ConfigError(
        fmt::format("the model has {} classes, the data has {}", output.size(-1), shape.classes));
}

void TorchLearner::Impl::lay_out(const std::vector<std::size_t>& order) {
  Tensors sorted;
  std::vector<std::shared_ptr<torch::autograd::Node>> nodes;
  for (const std::size_t i : order) {
    sorted.parameters.push_back(tensors_.parameters[i]);
    nodes.push_back(nodes_[i]);
  }
  sorted.buffers = std::move(tensors_.buffers);
  sorted.side = std::move(tensors_.side);
  tensors_ = std::move(sorted);

  // The hooks know their parameters by number, so they are made again in the new order.
  for (auto& node : nodes) node->pre_hooks().clear();
  nodes_.clear();
  hook_parameters();

  std::vector<TensorEntry> entries;
  std::vector<bool> alone;
  for (const NamedTensor& t : tensors_.parameters) {
    entries.push_back(entry_of(t, Section::Parameter, options_.channels_last));
    alone.push_back(options_.factors && t.tensor.dim() == 2);
  }
  for (const NamedTensor& t : tensors_.buffers)
    entries.push_back(entry_of(t, Section::Buffer, options_.channels_last));
  for (const NamedTensor& t : tensors_.side) entries.push_back(entry_of(t, Section::Side, false));
  layout_ = Layout(std::move(entries));
  buckets_ = cut_buckets(layout_, options_.bucket_bytes, alone);
}

// ---- State

void TorchLearner::Impl::initialize(Range state) {
  SHOAL_CHECK_EQ(state.n, layout_.all());
  // Until it is bound to an arena, the network has its initial values.
  std::unique_ptr<TorchModel> fresh = bound_ == nullptr ? nullptr : make_model();
  const Tensors values = fresh == nullptr ? tensors_ : tensors_of_model(*fresh);
  const torch::NoGradGuard no_grad;
  for (const auto* group : {&values.parameters, &values.buffers, &values.side})
    for (const NamedTensor& t : *group)
      view_of(*layout_.find(t.name), state.data().data()).copy_(t.tensor);
}

void TorchLearner::Impl::bind(Range state) {
  float* const data = state.data().data();
  if (data == bound_) return;
  const TensorEntry* entry = layout_.tensors().data();
  for (auto* group : {&tensors_.parameters, &tensors_.buffers, &tensors_.side})
    for (NamedTensor& t : *group) t.tensor.set_data(view_of(*entry++, data));
  if (bound_ == nullptr) release_tensor_memory();  // of the network's initial values
  bound_ = data;
}

BatchTensors TorchLearner::Impl::tensors_of_batch(const Batch& batch,
                                                  const SampleShape& shape) const {
  BatchTensors t = tensors_of(batch, shape);
  if (options_.channels_last && t.input.dim() == 4)
    t.input = t.input.contiguous(at::MemoryFormat::ChannelsLast);
  return t;
}

// ---- A step, on the compute thread

void TorchLearner::Impl::arrived(std::size_t i, const at::Tensor& gradient) {
  if (order_ != nullptr) order_->push_back(i);
  if (pass_ != nullptr) pass_->arrived(i, gradient);
}

bool TorchLearner::Impl::take_fetched(const Portion& portion) {
  for (Fetched& f : fetched_) {
    if (!f.ready || f.portion.epoch != portion.epoch || f.portion.samples != portion.samples)
      continue;
    std::swap(batch_, f.batch);
    f.ready = false;
    return true;
  }
  return false;
}

Task<void> TorchLearner::Impl::fetch_ahead(Env& env, Portion portion) {
  Fetched& f = fetched_[1 - fetched_last_];
  if (f.busy) co_return;  // two are being fetched, and this is only a hint
  fetched_last_ = 1 - fetched_last_;
  f.ready = false;
  f.portion = std::move(portion);
  const Busy busy(f);
  co_await env.work(Work::Io, Elements(f.portion.samples.size()),
                    [&] { train_->fill(f.portion.epoch, f.portion.samples, f.batch); });
  f.ready = true;
}

void TorchLearner::Impl::step(Env& env, Range state, const GradientTarget& target,
                              const Portion& portion, bool have_batch, GradientPass& pass,
                              Score& score) {
  if (model_->norms() != nullptr) model_->norms()->meeting = target.meeting;
  if (portion.samples.empty()) {
    if (model_->norms() != nullptr) model_->norms()->add_nothing();
    return pass.flush();
  }
  if (!have_batch) train_->fill(portion.epoch, portion.samples, batch_);
  prepare_compute_thread();
  bind(state);
  model_->train(true);
  seed_generator(options_.seed, Purpose::Dropout, portion.step.value(), portion.shard);
  pass_ = &pass;
  try {
    const BatchTensors batch = tensors_of_batch(batch_, train_->shape());
    const at::Tensor output = forward(env, state, target, batch);
    const at::Tensor loss = model_->loss(output, batch);
    const double mean = loss.item<double>();
    check_loss(mean, portion);
    Score own = score_of(output.detach(), batch, train_->shape().target);
    own.loss = mean * static_cast<double>(batch.n);
    watch_layers(loss, pass);
    // The gradient of the sum, so that uneven shares of a batch add up.
    loss.backward(at::full_like(loss, static_cast<double>(batch.n)));
    pass.flush();
    score += own;
  } catch (const c10::Error& error) {
    pass_ = nullptr;
    throw Error(fmt::format("step {}: libtorch: {}", portion.step, first_line(error)));
  } catch (...) {
    pass_ = nullptr;
    throw;
  }
  pass_ = nullptr;
}

at::Tensor TorchLearner::Impl::forward(Env& env, Range state, const GradientTarget& target,
                                       const BatchTensors& batch) {
  LayerWaits waits(target.gate, env, state.slice(Elements(0), layout_.parameters()));
  at::Tensor output = model_->forward(batch);
  waits.finish();
  return output;
}

void TorchLearner::Impl::watch_layers(const at::Tensor& loss, GradientPass& pass) const {
  const bool makes = pass.makes_products();
  if (!makes && !options_.factors) return;
  watch_factors(loss, nodes_, makes ? Product::Caller : Product::Autograd,
                [&, makes](std::size_t i, const at::Tensor& error, const at::Tensor& input) {
                  if (options_.factors) pass.set_factors(i, factors_of(error, input));
                  if (makes) pass.arrived(i, error, input);
                });
}

void TorchLearner::Impl::check_loss(double loss, const Portion& portion) const {
  if (std::isfinite(loss)) return;
  constexpr std::size_t kNamed = 16;
  std::string ids;
  for (std::size_t i = 0; i < std::min(portion.samples.size(), kNamed); ++i)
    ids += fmt::format("{}{}", i == 0 ? "" : " ", portion.samples[i]);
  if (portion.samples.size() > kNamed)
    ids += fmt::format(" and {} more", portion.samples.size() - kNamed);
  throw DataError(fmt::format(
      "the loss became {} in step {} (epoch {}), on samples {}\n"
      "Hint: take a smaller learning rate (--lr), a warm-up (--schedule warmup:1+cosine) or clip "
      "the gradient (--clip-norm 1); look at these samples if it happens in the first steps",
      loss, portion.step, portion.epoch, ids));
}

Score TorchLearner::Impl::evaluate(Range state, std::span<const SampleId> samples) {
  const torch::NoGradGuard no_grad;
  bind(state);
  model_->train(false);
  test_->fill(0, samples, eval_batch_);
  const BatchTensors batch = tensors_of_batch(eval_batch_, test_->shape());
  const at::Tensor output = model_->forward(batch);
  Score score = score_of(output, batch, test_->shape().target);
  score.loss = model_->loss(output, batch).item<double>() * static_cast<double>(batch.n);
  return score;
}

void TorchLearner::Impl::predict(Range state, std::span<const SampleId> samples, Predictions& all) {
  const torch::NoGradGuard no_grad;
  bind(state);
  model_->train(false);
  test_->fill(0, samples, eval_batch_);
  const BatchTensors batch = tensors_of_batch(eval_batch_, test_->shape());
  const at::Tensor output = model_->forward(batch);
  if (test_->shape().target == TargetKind::Values || output.dim() != batch.target.dim() + 1)
    throw ConfigError(
        "--combine with a model that predicts no classes; take one that does, or --combine none");
  const at::Tensor rows = at::softmax(output, -1).contiguous();
  all.classes = static_cast<std::uint64_t>(output.size(-1));
  all.rows.insert(all.rows.end(), rows.data_ptr<float>(), rows.data_ptr<float>() + rows.numel());
  const auto* const labels = batch.target.data_ptr<std::int64_t>();
  all.labels.insert(all.labels.end(), labels, labels + batch.target.numel());
}

at::Tensor TorchLearner::Impl::output(Range state, std::span<const SampleId> samples) {
  const torch::NoGradGuard no_grad;
  bind(state);
  model_->train(false);
  train_->fill(0, samples, eval_batch_);
  return model_->forward(tensors_of_batch(eval_batch_, train_->shape()));
}

// ---- The learner

TorchLearner::TorchLearner(ModelFactory make, std::shared_ptr<const BatchSource> train,
                           std::shared_ptr<const BatchSource> test, TorchLearnerOptions options)
    : impl_(std::make_unique<Impl>(std::move(make), std::move(train), std::move(test), options)) {}
TorchLearner::~TorchLearner() = default;

const Layout& TorchLearner::layout() const { return impl_->layout_; }
void TorchLearner::initialize(Range state) const { impl_->initialize(state); }
std::uint64_t TorchLearner::held_out() const { return impl_->test_ ? impl_->test_->size() : 0; }
at::Tensor TorchLearner::output(Range state, std::span<const SampleId> samples) {
  return impl_->output(state, samples);
}

Task<void> TorchLearner::gradient(Env& env, Range state, GradientTarget target, Portion portion,
                                  Channel<Ready>& ready, Score& score) {
  // In simulation, and with unknown networks, a pass cannot wait between layers.
  if (target.gate != nullptr && !(env.posts() && impl_->waits_by_layer())) {
    co_await target.gate->until_all(env);
    target.gate = nullptr;
  }
  std::vector<Elements> costs;
  for (const Bucket& bucket : impl_->buckets_) costs.push_back(bucket.n * portion.samples.size());
  costs.front() += layout().parameters() * portion.samples.size();  // of forward
  const bool have_batch = impl_->take_fetched(portion);
  std::optional<GradientPass> pass;
  co_await work_in_pieces(
      env, Work::Backward, std::move(costs), target.buckets,
      [&](const Emit& emit, const Wanted& wanted) {
        pass.emplace(layout(), impl_->buckets_, target, emit, wanted);
        impl_->step(env, state, target, portion, have_batch, *pass, score);
      },
      [&](std::uint32_t bucket) { ready.push(pass->ready(bucket)); });
  ready.close();
}

Task<Score> TorchLearner::evaluate(Env& env, Range state, std::uint64_t from, std::uint64_t to) {
  Score score;
  std::vector<SampleId> samples;
  while (from < to) {
    samples.resize(std::min(to - from, impl_->options_.eval_batch));
    std::iota(samples.begin(), samples.end(), from);
    co_await env.work(Work::Forward, layout().parameters() * samples.size(),
                      [&] { score += impl_->evaluate(state, samples); });
    from += samples.size();
  }
  co_return score;
}

Task<Predictions> TorchLearner::predict(Env& env, Range state, std::uint64_t from,
                                        std::uint64_t to) {
  Predictions all;
  std::vector<SampleId> samples;
  while (from < to) {
    samples.resize(std::min(to - from, impl_->options_.eval_batch));
    std::iota(samples.begin(), samples.end(), from);
    co_await env.work(Work::Forward, layout().parameters() * samples.size(),
                      [&] { impl_->predict(state, samples, all); });
    from += samples.size();
  }
  co_return all;
}

std::unique_ptr<Learner> make_torch_learner(const TorchTask& task) {
  return std::make_unique<TorchLearner>(
      model_factory(task.model, task.train->shape(), task.normalization), task.train, task.test,
      task.options);
}

Task<void> TorchLearner::prefetch(Env& env, Portion portion) {
  return impl_->fetch_ahead(env, std::move(portion));
}

void TorchLearner::pause() { release_tensor_memory(); }

}  // namespace shoal
