#include "shoal/train.h"

#include <c10/util/Type.h>
#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>

#include "api/samples.h"
#include "app/command_line.h"
#include "app/train_run.h"
#include "base/error.h"
#include "learner/torch/compute.h"
#include "learner/torch/describe.h"
#include "learner/torch/module.h"
#include "learner/torch/tensors.h"
#include "learner/torch/torch_learner.h"

namespace shoal {
namespace {

// The user's module, lent to the learner, which moves its tensors into the memory of a run. The
// learner ends before the module does: this object then gives the tensors their own memory back,
// with the trained values if the run got that far, otherwise the old ones.
class Lent {
 public:
  explicit Lent(std::shared_ptr<torch::nn::Module> module) : module_(std::move(module)) {
    for (const auto& p : module_->named_parameters()) add(p.key(), p.value(), true);
    for (const auto& b : module_->named_buffers()) add(b.key(), b.value(), false);
  }
  ~Lent() {
    for (Entry& e : entries_) e.tensor.set_data(e.own);
    module_->eval();
  }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;

  // A parameter with two names is in the layout, and here first, under one of them.
  void keep(const Layout& layout, std::span<const float> state) {
    const torch::NoGradGuard no_grad;
    for (Entry& e : entries_)
      // libtorch takes no const memory; it only reads it here.
      if (const TensorEntry* const entry = layout.find(e.name))
        e.own.copy_(view_of(*entry, const_cast<float*>(state.data())));
  }

  // The values before training.
  ModuleModel::Parts values() const {
    ModuleModel::Parts parts;
    for (const Entry& e : entries_)
      (e.parameter ? parts.parameters : parts.buffers).push_back({e.name, e.own});
    return parts;
  }
  const std::shared_ptr<torch::nn::Module>& module() const { return module_; }

 private:
  struct Entry {
    std::string name;
    at::Tensor tensor;  // the module's
    at::Tensor own;     // its own memory, wherever the tensor points to
    bool parameter;
  };
  void add(const std::string& name, const at::Tensor& tensor, bool parameter) {
    if (tensor.defined()) entries_.push_back({name, tensor, tensor.tensor_data(), parameter});
  }

  std::shared_ptr<torch::nn::Module> module_;
  std::vector<Entry> entries_;
};

// Prediction and target may differ in singleton dimensions only: n x 1 and n would otherwise be
// broadcast to n x n.
at::Tensor squared_error(const at::Tensor& output, const at::Tensor& target) {
  TORCH_CHECK(output.numel() == target.numel(), "the model gives ", output.sizes(),
              ", the data has ", target.sizes());
  return at::mse_loss(output, target.view_as(output));
}

// Gives targets the shape that they had in the user's own tensors.
ModuleModel::Loss loss_of(const Loss& given, TargetKind kind,
                          const std::vector<std::int64_t>& target_shape, bool own) {
  if (kind != TargetKind::Values) {
    if (!given) return {};
    return [given](const at::Tensor& output, const BatchTensors& batch) {
      return given(output, batch.target);
    };
  }
  const Loss loss = given ? given : squared_error;
  return [loss, target_shape, own](const at::Tensor& output, const BatchTensors& batch) {
    if (!own) return loss(output, batch.target);
    std::vector<std::int64_t> shape{batch.n};
    shape.insert(shape.end(), target_shape.begin(), target_shape.end());
    return loss(output, batch.target.view(shape));
  };
}

Model::Made make(const Model& model) {
  try {
    Model::Made made = model.make();
    if (made.module == nullptr) throw ConfigError("the model is a null pointer");
    return made;
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    throw ConfigError(fmt::format("the model {} could not be constructed: {}", model.name,
                                  text.substr(0, text.find('\n'))));
  }
}

// Makes the network once and lends it to the learner; a second request gets its first values.
ModelFactory factory_of(const Model& model, const ModuleModel::Loss& loss,
                        std::unique_ptr<Lent>& lent) {
  return [&model, loss, &lent]() -> std::unique_ptr<TorchModel> {
    if (lent != nullptr) return std::make_unique<ModuleModel>(lent->values());
    const Model::Made made = make(model);
    lent = std::make_unique<Lent>(made.module);
    ModuleModel::Parts parts = parts_of(*made.module);
    parts.forward = [forward = made.forward](const BatchTensors& b) { return forward(b.input); };
    parts.loss = loss;
    return std::make_unique<ModuleModel>(std::move(parts));
  };
}

Rule rule_of_ones_own(const Training& training, const TrainFlags& flags) {
  const std::string& name = training.update.name;
  if (flags.optimizer != "auto")
    throw ConfigError(
        fmt::format("--optimizer {} with the update rule {} of Training::update; "
                    "omit one of them",
                    flags.optimizer, name));
  if (flags.eta == "auto")
    throw ConfigError(
        fmt::format("Training::update: {} has no default learning rate; give Training::eta, or "
                    "--lr on the command line",
                    name));
  Rule rule = own_rule(training.update);
  rule.clip_norm = flags.clip_norm;
  return rule;
}

TrainFlags flags_of(const Training& training) {
  if (!training.model.make)
    throw ConfigError("Training::model is empty; give shoal::model<MyNet>(..)");
  TrainFlags flags;
  flags.model = training.model.name;
  flags.data = training.data.spec.empty() ? "own" : training.data.spec;
  flags.epochs = training.epochs;
  flags.steps = training.steps;
  flags.batch = training.batch;
  flags.seed = training.seed;
  flags.test_fraction = training.test_fraction;
  flags.optimizer = training.optimizer;
  flags.eta = training.eta == 0 ? "auto" : fmt::format("{}", training.eta);
  flags.schedule = training.schedule;
  flags.out = training.out;
  flags.quiet = training.quiet;
  return flags;
}

// The options of `shoal train`, except those that the program has decided and those that must be
// known before libtorch is loaded.
std::vector<Option> options_of(TrainFlags& flags, bool own_data) {
  std::vector<std::string> without{"--model", "--batch-norm", "--weight-norm", "--blas",
                                   "--no-tune"};
  if (own_data) without.insert(without.end(), {"--data", "--augment", "--length"});
  std::vector<Option> options = train_options(flags);
  std::erase_if(options, [&](const Option& option) {
    return std::ranges::find(without, option.name) != without.end();
  });
  return options;
}

ComputeChoice compute_choice(const TrainRun& run) {
  ComputeChoice choice = plain_choice(wish_of(run.flags), run.cores());
  const char* const kernels = std::getenv("OPENBLAS_CORETYPE");
  choice.blas = kernels == nullptr ? "" : kernels;
  choice.reason = "kernels: by OPENBLAS_CORETYPE, which is read before main";
  return choice;
}

Trained trained_of(const TrainRun& run, std::shared_ptr<torch::nn::Module> module) {
  const Summary& s = run.result.summary;
  Trained t{};
  t.train_loss = s.train_loss;
  t.train_accuracy = s.train_accuracy;
  t.test_loss = s.test_loss;
  t.test_accuracy = s.test_accuracy;
  t.seconds = s.wall_s;
  t.steps = s.steps.value();
  t.stopped = run.result.totals.left;
  t.folder = run.flags.out;
  t.model_file = fmt::format("{}/checkpoint/step-{}/model.safetensors", run.flags.out, s.steps);
  t.module = std::move(module);
  return t;
}

// In the launcher, when its workers have ended.
void follow_workers(TrainRun& run, ExitCode code) {
  if (code != ExitCode::kOk && code != ExitCode::kStopped)
    throw Error(fmt::format("the workers ended with status {}", static_cast<int>(code)));
  take_result(run);
  run.result.totals.left = code == ExitCode::kStopped;
}

// The flags are complete. The result of several workers is in the run folder: a worker's program
// ends here, and the launcher's continues.
Trained run_training(const Training& training, TrainRun& run) {
  static int calls = 0;
  if (++calls > 1 && run.topology.role != ProcessRole::Alone)
    throw ConfigError(
        "--workers: every worker runs this program from its start, so it can train only once "
        "with several workers; train with one worker, or in another program");
  run.before_threads();
  OwnData own;
  const bool is_own = training.data.spec.empty();
  if (is_own) {
    own = open_own_data(training.data, Seed(run.flags.seed), run.flags.test_fraction);
    run.use(own.dataset);
  } else {
    run.use(open_data(run.flags));
  }
  if (training.update.apply) run.plan.rule = rule_of_ones_own(training, run.flags);
  run.choice = run.handed ? run.handed->compute : compute_choice(run);
  run.torch_version = describe_torch().version;
  set_torch_compute(run.compute());

  const TargetKind target = run.dataset.train->shape().target;
  const auto loss = loss_of(training.loss, target, own.target_shape, is_own);
  std::unique_ptr<Lent> lent;  // outlives the learner
  run.learner =
      std::make_unique<TorchLearner>(factory_of(training.model, loss, lent), run.dataset.train,
                                     run.dataset.test, run.learner_options());
  run.plan.take_state = [&](std::span<const float> state) {
    lent->keep(run.learner->layout(), state);
  };
  try {
    const ExitCode code = run.train();
    if (run.topology.role == ProcessRole::Worker) std::exit(static_cast<int>(code));
    if (run.topology.role == ProcessRole::Launcher) follow_workers(run, code);
  } catch (...) {
    run.learner.reset();
    throw;
  }
  run.learner.reset();
  return trained_of(run, lent->module());
}

}  // namespace

std::string detail::plain_name(const std::type_info& type) {
  std::string name = c10::demangle(type.name());
  name.resize(std::min(name.find('<'), name.size()));
  if (const std::size_t colons = name.rfind("::"); colons != std::string::npos)
    name.erase(0, colons + 2);
  if (name.ends_with("Impl")) name.resize(name.size() - 4);
  return name;
}

Trained train(const Training& training) {
  TrainFlags flags = flags_of(training);
  std::vector<std::string> given;
  Command command;
  command.name = "shoal::train";
  command.options = options_of(flags, training.data.spec.empty());
  command.run = [] { return ExitCode::kOk; };
  command.given = &given;
  parse_options(command, training.flags);
  auto config = gather_flags(flags, command.options, given);
  TrainRun run(flags, std::move(config), "your program");
  return run_training(training, run);
}

int train(int argc, const char* const* argv, const Training& training) {
  const std::string program = argc > 0 ? argv[0] : "program";
  TrainFlags flags;
  std::vector<std::string> given;
  Command command;
  command.name = std::filesystem::path(program).filename().string();
  try {
    flags = flags_of(training);
    command.summary = fmt::format("Trains {} on {}.", flags.model, flags.data);
    command.options = options_of(flags, training.data.spec.empty());
    command.run = [&] {
      auto config = gather_flags(flags, command.options, given);
      TrainRun run(flags, std::move(config), program);
      run.take_signals = true;
      return run_training(training, run).stopped ? ExitCode::kStopped : ExitCode::kOk;
    };
    parse_options(command, training.flags);  // as defaults: the command line takes precedence
  } catch (const ConfigError& error) {
    fmt::print(stderr, "{}: {}\n", command.name, error.what());
    return static_cast<int>(ExitCode::kUsage);
  }
  command.given = &given;
  return static_cast<int>(run_command_line(command, argc, argv));
}

}  // namespace shoal
