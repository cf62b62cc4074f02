#include "app/train_flags.h"

#include <fmt/core.h>

#include <algorithm>

#include "app/budget.h"
#include "base/error.h"
#include "base/parse.h"
#include "data/dataset.h"
#include "data/partition.h"
#include "launch/ranks.h"
#include "ps/served.h"
#include "recipe/compatibility.h"
#include "recipe/registry.h"

namespace shoal {
namespace {

void set(double& to, const char* flag, const std::string& text) {
  if (!text.empty()) to = require_number<double>(flag, text, "a number");
}

// A constant that the rule does not use is an error.
void refuse_unless(bool used, const char* flag, const std::string& text, RuleKind kind,
                   const char* instead) {
  if (used || text.empty()) return;
  throw ConfigError(fmt::format("{} {}: {} has none; take --optimizer {}, or omit it", flag, text,
                                to_string(kind), instead));
}

// The usual optimizer and learning rate of a model.
struct Habit {
  const char* model;
  const char* optimizer;
  double eta;
};
constexpr Habit kHabits[] = {
    {"linear", "sgd", 0.1},          {"logistic", "sgd", 0.1},       {"mlp", "momentum", 0.05},
    {"lenet", "momentum", 0.05},     {"alexnet", "momentum", 0.01},  {"vgg", "momentum", 0.05},
    {"resnet", "momentum", 0.1},     {"lstm", "adam", 0.003},        {"gru", "adam", 0.003},
    {"transformer", "adamw", 0.001}, {"autoencoder", "adam", 0.001},
};
constexpr Habit kOtherHabit{"", "momentum", 0.01};

const Habit& habit_of(const std::string& model) {
  const std::string name = model.substr(0, model.find(':'));
  for (const Habit& habit : kHabits)
    if (name == habit.model) return habit;
  return kOtherHabit;
}

// Shards of --reproducible, when none are given: as many workers give the same bits, and less.
constexpr const char* kReproducibleShards = "8";

std::string words_of(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

void add_axes(TrainFlags& f, std::vector<Option>& options) {
  for (std::size_t i = 0; i < f.axes.size(); ++i) {
    const Axis& axis = axes()[i];
    AxisFlag& flag = f.axes[i];
    if (axis.is_switch) {
      options.push_back({"--" + axis.name, axis.help, &flag.on});
      options.push_back({"--no-" + axis.name, "switch it off", &flag.off});
    } else {
      const std::string choices = axis.choices.empty() ? "" : ": " + words_of(axis.choices);
      options.push_back({"--" + axis.name, axis.help + choices, &flag.value});
    }
  }
}

bool given(const RecipeFlags& f, std::string_view name) {
  const auto it = std::ranges::find(axes(), name, &Axis::name);
  const AxisFlag& flag = f.axes[static_cast<std::size_t>(it - axes().begin())];
  return flag.on || flag.off || !flag.value.empty();
}

// An epoch ends when this many samples have been dealt.
std::uint64_t epoch_of(const Recipe& recipe, std::uint64_t samples) {
  const auto* const in_step = std::get_if<InStep>(&recipe);
  const double fraction = in_step == nullptr ? 1 : in_step->epoch_fraction;
  return static_cast<std::uint64_t>(std::ceil(fraction * static_cast<double>(samples)));
}

// Checks the batch of a pass, and the largest batch of its growth.
void check_batches(const TrainPlan& plan) {
  const auto* const in_step = std::get_if<InStep>(&plan.recipe);
  const std::uint64_t passes = in_step == nullptr ? 1 : in_step->accumulate;
  const std::uint64_t portions =
      shards_of(plan.recipe) > 0 ? shards_of(plan.recipe) : plan.workers * passes;
  const std::uint64_t own = plan.global_batch / portions;
  const BatchNorm& norm = batch_norm_of(plan.recipe);
  if (norm.over == BatchNorm::Over::Group && norm.group > own)
    throw ConfigError(fmt::format(
        "--batch-norm {}: a pass has only {} samples; take larger batches, or {}", to_string(norm),
        own, own < 2 ? std::string("local") : fmt::format("group:{}", own)));
  if (plan.growth.epochs.empty()) return;
  const std::uint64_t largest = batch_in(plan.growth, plan.global_batch, plan.growth.epochs.back());
  if (largest > plan.samples)
    throw ConfigError(
        fmt::format("--batch-growth {}: from epoch {} on a batch would have {} samples; the data "
                    "has only {}",
                    describe(plan.growth), plan.growth.epochs.back(), largest, plan.samples));
}

double usual_eta(RuleKind kind) {
  switch (kind) {
    case RuleKind::Sgd: return 0.1;
    case RuleKind::Momentum:
    case RuleKind::Nesterov: return 0.05;
    case RuleKind::Adagrad: return 0.01;
    case RuleKind::Lars: return 1;
    default: return 0.001;
  }
}

}  // namespace

std::vector<Option> train_options(TrainFlags& f) {
  std::vector<Option> options = {
      {"--model",
       "linear, logistic, mlp:784-2048-10, lenet, alexnet, vgg[:16], resnet:20|32|56|18, lstm, "
       "gru, "
       "transformer, autoencoder, or a TorchScript file (*.pt)",
       &f.model},
      {"--data", dataset_forms(), &f.data},
      {"--epochs", "number of passes over all samples", &f.epochs},
      {"--steps", "number of steps, in place of epochs", &f.steps},
      {"--budget",
       "training time without evaluations, 60s, 5m or 1h: ends after the next step; or 5epochs",
       &f.budget},
      {"--workers",
       "number of workers, each a process; MIN:MAX: starts MAX, and waits while fewer than MIN are "
       "left; auto: 1, or the number that another launcher has started",
       &f.workers},
      {"--batch", "samples per step and worker", &f.batch},
      {"--global-batch", "samples per step of all workers; 0: the sum of their batches",
       &f.global_batch},
      {"--restarts", "restart killed workers, this many times in total", &f.restarts},
      {"--hosts", "a,b:2: start the workers on these hosts by ssh ($SHOAL_SSH: another command)",
       &f.hosts},
      {"--store", "URL,URL of an etcd cluster: any process may then be lost", &f.store},
      {"--listen", "ADDRESS[:PORT] where the workers meet; by default loopback", &f.listen},
      {"--seed", "seed of all random numbers", &f.seed},
      {.name = "--like",
       .help = "the system whose recipe is used; `shoal systems` lists them",
       .target = &f.like,
       .choices = system_names()},
      {"--optimizer",
       "sgd, momentum, nesterov, adagrad, rmsprop, adam, adamw, lars, lamb; auto: by the model",
       &f.optimizer},
      {"--eta,--lr", "maximum of the learning rate; auto: by model and optimizer", &f.eta},
      {"--schedule", "constant, cosine, step:30,60:0.1, poly:2, warmup:5+cosine, ...", &f.schedule},
      {"--momentum", "momentum of momentum, nesterov, rmsprop, lars", &f.momentum},
      {"--weight-decay", "weight decay; by default that of the optimizer", &f.weight_decay},
      {"--beta1", "constant of adam, adamw, lamb", &f.beta1},
      {"--beta2", "constant of adam, adamw, lamb", &f.beta2},
      {"--epsilon", "constant of the adaptive optimizers", &f.epsilon},
      {"--clip-norm", "maximum norm of a gradient; 0: none", &f.clip_norm},
      {"--batch-growth", "2@10,20: double the batch at these epochs", &f.batch_growth},
      {"--weight-norm", "learn length and direction of each output's weights separately",
       &f.weight_norm},
      {"--augment", "crop and flip training images", &f.augment},
      {"--length", "characters in a window of a text", &f.length},
      {"--test-fraction", "fraction held out of data without a test set", &f.test_fraction},
      {"--partition", "which samples a worker gets: global, local, by-label or dirichlet:A",
       &f.partition},
      {"--threads", "threads of one operation of libtorch; auto: probed", &f.threads},
      {"--blas", "kernels of OpenBLAS: default, HASWELL, ZEN, SKYLAKEX, ...; auto: probed",
       &f.blas},
      {"--memory-format",
       "layout of images: contiguous or channels-last; auto: probed",
       &f.memory_format,
       false,
       {"auto", "contiguous", "channels-last"}},
      {"--denormals",
       "denormal numbers: flush to zero (faster) or keep",
       &f.denormals,
       false,
       {"flush", "keep"}},
      {"--wait-mode",
       "how a worker waits for others; auto: spin while its core would idle",
       &f.waits,
       false,
       {"auto", "spin", "block"}},
      {"--cores",
       "core of a worker with one thread; auto: leave a core that has become slow; keep: the "
       "kernel decides",
       &f.cores,
       false,
       {"auto", "keep"}},
      {"--reproducible", "the same bits on every machine of this kind, without probing",
       &f.reproducible},
      {"--no-tune", "do not probe; use libtorch's defaults", &f.no_tune},
      {"--no-predict", "do not predict the run by a simulation, nor calibrate this machine for it",
       &f.no_predict},
      {"--bucket-bytes",
       "size of the gradient's buckets; 0: that of the system, or tuned at run time",
       &f.bucket_bytes},
      {"--out", "the run's folder; by default a new one in runs/", &f.out},
      {"--resume", "continue the run in this folder, with its settings", &f.resume},
      {"--config", "a TOML file with these options by name; flags win", &f.config},
      {"--save-every", "steps between two checkpoints; 0: every epoch", &f.save_every},
      {"--quiet", "no progress", &f.quiet},
  };
  add_axes(f, options);
  return options;
}

Recipe recipe_of(const TrainFlags& f) {
  Recipe recipe = find_system(f.like).recipe;
  std::vector<AxisValue> values;
  for (std::size_t i = 0; i < f.axes.size(); ++i) {
    const std::string& name = axes()[i].name;
    const AxisFlag& flag = f.axes[i];
    if (flag.on && flag.off)
      throw ConfigError(fmt::format("--{0} and --no-{0}: take one of them", name));
    if (flag.on || flag.off) values.push_back({name, flag.on ? "yes" : "no"});
    if (!flag.value.empty()) values.push_back({name, flag.value});
  }
  set_axes(recipe, values);
  if (!f.reproducible) return recipe;
  if (axis_of(recipe, "shards").empty())
    throw ConfigError(
        fmt::format("--reproducible with --update {}: the result would depend on the order in "
                    "which workers finish; take --update owners or servers",
                    axis_of(recipe, "update")));
  if (!given(f, "shards")) set_axes(recipe, {AxisValue{"shards", kReproducibleShards}});
  if (shards_of(recipe) == 0)
    throw ConfigError(
        "--reproducible with --shards 0: the sums would depend on the number of workers; omit "
        "--shards, or take at least the number of workers");
  return recipe;
}

Bytes bucket_bytes_of(const RecipeFlags& f) {
  return f.bucket_bytes == 0 ? find_system(f.like).bucket_bytes : Bytes(f.bucket_bytes);
}

Rule rule_of(const TrainFlags& f) {
  const std::string_view own = find_system(f.like).optimizer;
  std::string usual = own.empty() ? habit_of(f.model).optimizer : std::string(own);
  // Late pushes add momentum (Mitliagkas et al. 2016): training diverges with both.
  const Recipe recipe = recipe_of(f);
  const auto* const served = std::get_if<Served>(&recipe);
  const bool late = served != nullptr && !goes_by_steps(served->ps.consistency);
  if (own.empty() && late && !served->ps.lower_momentum && usual == "momentum") usual = "sgd";
  Rule rule = parse_rule(f.optimizer == "auto" ? usual : f.optimizer);
  using enum RuleKind;
  const RuleKind kind = rule.kind;
  const bool adam = kind == Adam || kind == AdamW || kind == Lamb;
  refuse_unless(kind == Momentum || kind == Nesterov || kind == Rmsprop || kind == Lars,
                "--momentum", f.momentum, kind, "momentum or nesterov");
  refuse_unless(adam, "--beta1", f.beta1, kind, "adam, adamw or lamb");
  refuse_unless(adam, "--beta2", f.beta2, kind, "adam, adamw or lamb");
  refuse_unless(adam || kind == Adagrad || kind == Rmsprop, "--epsilon", f.epsilon, kind,
                "adam, adamw, lamb, adagrad or rmsprop");
  set(rule.momentum, "--momentum", f.momentum);
  set(rule.weight_decay, "--weight-decay", f.weight_decay);
  set(rule.beta1, "--beta1", f.beta1);
  set(rule.beta2, "--beta2", f.beta2);
  set(rule.epsilon, "--epsilon", f.epsilon);
  rule.clip_norm = f.clip_norm;
  require_valid(rule);
  return rule;
}

double eta_of(const TrainFlags& f, const Rule& rule) {
  if (f.eta == "auto") {
    const Habit& habit = habit_of(f.model);
    const System& system = find_system(f.like);
    const double times = to_string(rule.kind) == system.optimizer ? system.eta_times : 1;
    return times * (to_string(rule.kind) == habit.optimizer ? habit.eta : usual_eta(rule.kind));
  }
  const auto eta = require_number<double>("--lr", f.eta, "a number above 0, or auto");
  if (eta <= 0) throw ConfigError(fmt::format("--lr {}: take a number above 0", f.eta));
  return eta;
}

Normalization normalization_of(const TrainFlags& f) {
  return {batch_norm_of(recipe_of(f)), f.weight_norm};
}

bool ends_by_time(const TrainFlags& f) {
  return !f.budget.empty() && parse_budget(f.budget).seconds > 0 && f.steps == 0 &&
         f.epochs == kEndlessEpochs;
}

void check_flags(const TrainFlags& f) {
  constexpr std::uint64_t kBatchMax = 1 << 20;
  const Recipe recipe = recipe_of(f);
  // Otherwise the launcher knows the number of workers.
  if (f.workers != "auto") {
    const std::uint64_t workers = parse_rank_count("--workers", f.workers).most;
    require_compatible(find_system(f.like), recipe, workers);
  }
  if (f.batch == 0 || f.batch > kBatchMax)
    throw ConfigError(fmt::format("--batch {}: take 1 to {}", f.batch, kBatchMax));
  if (f.epochs == 0 && f.steps == 0)
    throw ConfigError("--epochs 0: nothing to do; give epochs or --steps");
  if (f.epochs > kEndlessEpochs)
    throw ConfigError(fmt::format("--epochs {}: take 1 to {}", f.epochs, kEndlessEpochs));
  if (!(f.test_fraction >= 0 && f.test_fraction <= 0.9))
    throw ConfigError(fmt::format("--test-fraction {}: take 0 (no test) to 0.9", f.test_fraction));
  parse_partition(f.partition);
  const Rule rule = rule_of(f);
  eta_of(f, rule);
  if (const auto* const served = std::get_if<Served>(&recipe)) rule_at_servers(rule, served->ps, 1);
  if (by_worker(recipe)) {
    const std::string update = axis_of(recipe, "update");
    if (f.save_every != 0)
      throw ConfigError(
          fmt::format("--save-every {} with --update {}: the model is saved at the end of each "
                      "epoch, when no worker is in the middle of a step; omit it",
                      f.save_every, update));
    if (!f.batch_growth.empty())
      throw ConfigError(fmt::format(
          "--batch-growth {} with --update {}: --batch fixes the size of a share; omit one of them",
          f.batch_growth, update));
  }
  const Schedule schedule = parse_schedule(f.schedule);
  const bool by_length = schedule.kind == Schedule::Kind::Cosine ||
                         schedule.kind == Schedule::Kind::Poly || schedule.warmup_is_part;
  if (ends_by_time(f) && by_length)
    throw ConfigError(
        fmt::format("--schedule {} with --budget {}: it follows the length of the run, in steps; "
                    "add --epochs or --steps, or take --schedule constant",
                    f.schedule, f.budget));
  parse_batch_growth(f.batch_growth);
  wish_of(f);
}

ComputeWish wish_of(const ComputeFlags& f) {
  ComputeWish wish;
  wish.probe = !f.no_tune && !f.reproducible;
  wish.flush_denormals = f.denormals == "flush";
  wish.deterministic = f.reproducible;
  if (f.threads != "auto") {
    wish.threads = require_number<int>("--threads", f.threads,
                                       "a whole number from 1 to 1024, or auto", {1, 1024});
  } else if (f.reproducible) {
    wish.threads = 1;
  }
  if (f.memory_format != "auto") wish.channels_last = f.memory_format == "channels-last";
  if (f.reproducible && !wish.channels_last) wish.channels_last = false;
  if (f.blas != "auto") wish.blas = f.blas == "default" ? "" : f.blas;
  // Present in every OpenBLAS for x86-64, and of all that have it the same numbers.
  if (f.reproducible && !wish.blas) wish.blas = "HASWELL";
  return wish;
}

namespace {

// Buckets are exchanged during the backward pass, and take half as many bytes as the parameters and
// optimizer state that owners would send after it.
void adapt_to_hosts(const TrainFlags& f, Recipe& recipe) {
  const bool asked = given(f, "update") || given(f, "exchange");
  auto* const in_step = std::get_if<InStep>(&recipe);
  if (!find_system(f.like).adapts || asked || in_step == nullptr || needs_owners(*in_step)) return;
  in_step->updater = Updater::Everyone;
  in_step->exchange = Exchange::Auto;
}

}  // namespace

TrainPlan plan_of(const TrainFlags& f, const Dataset& dataset, std::uint64_t workers,
                  std::uint64_t hosts) {
  TrainPlan plan;
  plan.model = f.model;
  plan.data = f.data;
  plan.samples = dataset.train->size();
  plan.seed = Seed(f.seed);
  plan.workers = workers;
  plan.hosts = hosts;
  const std::uint64_t global = f.global_batch != 0 ? f.global_batch : f.batch * workers;
  plan.batch = std::max<std::uint64_t>(1, global / workers);
  if (workers > 1 && f.partition != "global")
    throw ConfigError(
        fmt::format("--partition {}: synchronous training deals one order of all samples to the "
                    "workers; take global, or one worker",
                    f.partition));
  if (global < workers)
    throw ConfigError(
        fmt::format("--global-batch {}: that is less than a sample for each of {} workers; take "
                    "more samples or fewer workers",
                    global, workers));
  if (global > plan.samples && f.global_batch != 0)
    throw ConfigError(
        fmt::format("--global-batch {}: the data has only {} samples", global, plan.samples));
  if (global > plan.samples && workers > 1)
    throw ConfigError(fmt::format("--batch {} for each of {} workers: the data has only {} samples",
                                  f.batch, workers, plan.samples));
  if (global > plan.samples)
    throw ConfigError(
        fmt::format("--batch {}: the data has only {} samples", f.batch, plan.samples));
  plan.global_batch = global;
  plan.epochs = f.steps == 0 ? f.epochs : 0;
  plan.system = find_system(f.like).name;
  plan.recipe = recipe_of(f);
  if (hosts > 1) adapt_to_hosts(f, plan.recipe);
  require_compatible(find_system(f.like), plan.recipe, workers);
  plan.growth = parse_batch_growth(f.batch_growth);
  check_batches(plan);
  // By the number of samples per update.
  const auto* const served = std::get_if<Served>(&plan.recipe);
  const std::uint64_t each = served != nullptr ? samples_per_update(*served, plan) : global;
  const Epochs epochs{epoch_of(plan.recipe, plan.samples), each, plan.growth};
  plan.steps = f.steps == 0 ? epochs.steps_of(f.epochs) : Step(f.steps);
  if (!f.budget.empty()) plan.budget = from_seconds(parse_budget(f.budget).seconds);
  plan.by_time = ends_by_time(f);
  plan.rule = rule_of(f);
  plan.eta = eta_of(f, plan.rule);
  plan.schedule = parse_schedule(f.schedule);
  if (f.bucket_bytes == 0 && find_system(f.like).adapts) plan.tune_buckets = bucket_bytes_of(f);
  plan.save_every = f.save_every == 0 ? epochs.steps_in(0) : Step(f.save_every);
  plan.evaluate = dataset.test != nullptr;
  return plan;
}

}  // namespace shoal
