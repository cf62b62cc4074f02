// shoal train: trains a model on data, and leaves a run folder behind.
#include <fmt/core.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "cli/build_info.h"
#include "cli/command.h"
#include "cli/config.h"
#include "cli/train_flags.h"
#include "learner/torch_loader/torch_plugin.h"
#include "runtime/live/mapped_file.h"
#include "runtime/live/posix_files.h"
#include "transport/inproc_world.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

// ---- Signals: the first asks for a checkpoint and an end, the second ends at once.

std::atomic<bool> stop_asked = false;

void on_signal(int signal) {
  if (stop_asked.exchange(true)) _exit(128 + signal);
  constexpr char kText[] = "\nshoal: stopping after this step, with a checkpoint; again: at once\n";
  [[maybe_unused]] const ssize_t n = write(STDERR_FILENO, kText, sizeof kText - 1);
}

void take_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

// ---- Where things are

Screen screen_of_stdout() {
  Screen screen;
  screen.terminal = isatty(STDOUT_FILENO) == 1;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) screen.width = size.ws_col;
  return screen;
}

fs::path cache_file() {
  if (const char* const xdg = std::getenv("XDG_CACHE_HOME"); xdg != nullptr && *xdg != 0)
    return fs::path(xdg) / "shoal" / "compute";
  if (const char* const home = std::getenv("HOME"); home != nullptr && *home != 0)
    return fs::path(home) / ".cache" / "shoal" / "compute";
  return {};
}

// runs/lenet-fashion-mnist, or with a number behind it when that is there already.
fs::path new_run_folder(const TrainFlags& flags) {
  std::string name = fs::path(flags.model).stem().string() + "-" + flags.data;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-') c = '-';
  if (name.size() > 60) name.resize(60);
  for (int i = 1;; ++i) {
    const fs::path folder = fs::path("runs") / (i == 1 ? name : fmt::format("{}-{}", name, i));
    if (!fs::exists(folder)) return folder;
  }
}

std::vector<ConfigEntry> read_config(const fs::path& file) {
  const FileView view = map_file(file.string());
  return parse_config({reinterpret_cast<const char*>(view.bytes.data()), view.bytes.size()},
                      file.string());
}

// Flags win over --config, which wins over what the resumed run had.
void gather_flags(TrainFlags& flags, const std::vector<Option>& options,
                  const std::vector<std::string>& given) {
  std::vector<std::string> fixed = given;
  if (!flags.config.empty()) {
    const std::vector<ConfigEntry> entries = read_config(flags.config);
    apply_config(options, fixed, entries, flags.config);
    for (const ConfigEntry& entry : entries) fixed.push_back("--" + entry.key);
  }
  if (flags.resume.empty()) return;
  const fs::path config = fs::path(flags.resume) / "config.toml";
  if (!fs::exists(config))
    throw ConfigError(fmt::format("--resume {}: there is no {}; is it the folder of a run?",
                                  flags.resume, config.string()));
  if (!flags.out.empty())
    throw ConfigError("--resume goes on in the run's own folder; leave --out away");
  apply_config(options, fixed, read_config(config), config.string());
  flags.out = flags.resume;
}

void require_fresh(const TrainFlags& flags) {
  if (!flags.resume.empty() || !fs::exists(fs::path(flags.out) / "config.toml")) return;
  throw ConfigError(fmt::format(
      "--out {}: a run is there already. Go on with it by --resume {}, or take another folder",
      flags.out, flags.out));
}

// ---- The run

struct Run {
  TrainFlags flags;
  TrainPlan plan;
  std::unique_ptr<Learner> learner;
  TrainResult result;
};

void print_head(const Run& run, const Dataset& dataset, const ComputeChoice& choice) {
  const Layout& layout = run.learner->layout();
  fmt::print("model     {}, {} parameters in {} tensors\n", run.plan.model,
             layout.parameters().value(), layout.parameter_tensors().size());
  fmt::print("data      {}: {}; {} samples to train, {} to test\n", dataset.name,
             describe(dataset.train->shape()), dataset.train->size(),
             dataset.test == nullptr ? 0 : dataset.test->size());
  fmt::print("training  {}, eta {} {}, batch {}, {} steps\n", describe(run.plan.rule), run.plan.eta,
             describe(run.plan.schedule), run.plan.batch, run.plan.steps);
  fmt::print("compute   {} ({})\n", describe(choice), choice.reason);
  fmt::print("run       {}\n\n", run.flags.out);
  std::fflush(stdout);
}

void print_end(const Run& run) {
  const RunTotals& totals = run.result.totals;
  const Summary& s = run.result.summary;
  fmt::print("\n{}", epoch_table(totals.rows));
  if (totals.left) {
    fmt::print("\nstopped after step {} of {}; go on with: shoal train --resume {}\n", s.steps,
               run.plan.steps, run.flags.out);
    return;
  }
  fmt::print("\n{} steps in {}; {:.0f} samples/s", totals.steps, short_duration(s.wall_s),
             s.samples_per_s);
  if (s.test_accuracy == s.test_accuracy)
    fmt::print("; test accuracy {:.2f} %", 100 * s.test_accuracy);
  fmt::print(
      "\n\nrun folder    {0}: summary.json, metrics.jsonl, trace.json (ui.perfetto.dev), "
      "TensorBoard "
      "events\nmodel         {0}/checkpoint/step-{1}/model.safetensors\n\nTry next:\n"
      "  shoal train --resume {0} --epochs {2}          train on\n"
      "  shoal train --model resnet:20 --optimizer adamw      another model, another optimizer\n"
      "  shoal train --model my.pt --data csv:my.csv          your own (TorchScript, CSV)\n",
      run.flags.out, s.steps, run.plan.epochs == 0 ? 1 : 2 * run.plan.epochs);
}

ComputeChoice prepare_compute(const TrainFlags& flags, const Dataset& dataset,
                              const fs::path& executable) {
  const ComputeWish wish = wish_of(flags);
  ProbeTask task;
  task.model = flags.model;
  task.shape = dataset.train->shape();
  task.batch = flags.batch;
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const ComputeChoice choice = choose_compute(wish, task, cores, executable, cache_file());
  // Before libtorch is loaded: OpenBLAS reads it then, and never again.
  if (!choice.blas.empty()) setenv("OPENBLAS_CORETYPE", choice.blas.c_str(), 1);
  return choice;
}

// The most memory that this process ever had.
Bytes memory_peak() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::uint64_t kib = 0;
    if (word == "VmHWM:" && status >> kib) return Bytes(kib * 1024);
  }
  return Bytes(0);
}

double wall_clock_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

void train_live(Run& run) {
  RunJournalOptions journal;
  journal.epochs = run.plan.epochs;
  journal.steps = run.plan.steps;
  journal.screen = screen_of_stdout();
  journal.quiet = run.flags.quiet;
  journal.stop = &stop_asked;
  journal.print = [](const std::string& text) {
    fmt::print("{}", text);
    std::fflush(stdout);
  };
  journal.warn = [](const std::string& text) { fmt::print(stderr, "shoal: warning: {}\n", text); };
  InprocOptions world_options;
  world_options.seed = run.plan.seed;
  world_options.compute_threads = true;
  world_options.limit = std::chrono::hours(24 * 365 * 10);
  InprocWorld world(world_options, [&](Env& env, NodeId) {
    return std::make_unique<PosixFiles>(env, run.flags.out);
  });
  rethrow_failure(world.run(
      [&](Node& node) { return train_worker(node, *run.learner, run.plan, journal, run.result); }));
}

ExitCode run_train(TrainFlags flags, const std::vector<ConfigEntry>& config) {
  check_flags(flags);
  if (flags.out.empty()) flags.out = new_run_folder(flags).string();
  require_fresh(flags);
  DatasetOptions data;
  data.seed = Seed(flags.seed);
  data.augment = flags.augment;
  data.length = flags.length;
  data.test_fraction = flags.test_fraction;
  const Dataset dataset = open_dataset(flags.data, data, map_file);

  Run run;
  run.plan = plan_of(flags, dataset);
  const fs::path executable = fs::read_symlink("/proc/self/exe");
  const ComputeChoice choice = prepare_compute(flags, dataset, executable);
  const TorchPlugin torch = TorchPlugin::load(plugin_directories(executable));
  torch.set_compute({.threads = choice.threads,
                     .flush_denormals = flags.denormals == "flush",
                     .deterministic = flags.reproducible});
  TorchTask task;
  task.model = flags.model;
  task.train = dataset.train;
  task.test = dataset.test;
  task.options.seed = run.plan.seed;
  task.options.bucket_bytes = Bytes(flags.bucket_bytes);
  task.options.channels_last = choice.channels_last;
  run.plan.memory_before = memory_peak();
  run.plan.memory_peak = memory_peak;
  run.learner = torch.make_learner(task);

  run.flags = flags;
  run.plan.config = config;
  run.plan.folder.wall_start_s = wall_clock_s();
  run.plan.folder.host = "node0";
  run.plan.notes = {{"shoal", describe(build_info())},
                    {"libtorch", torch.describe().version},
                    {"compute", describe(choice)},
                    {"optimizer", describe(run.plan.rule)}};
  if (!flags.quiet) print_head(run, dataset, choice);
  take_signals();
  train_live(run);
  if (!flags.quiet) print_end(run);
  return run.result.totals.left ? ExitCode::kStopped : ExitCode::kOk;
}

}  // namespace

Command train_command() {
  auto flags = std::make_shared<TrainFlags>();
  auto given = std::make_shared<std::vector<std::string>>();
  const std::vector<Option> options = train_options(*flags);
  return {.name = "train",
          .summary = "train a model; without options: LeNet on Fashion-MNIST",
          .options = options,
          .run =
              [flags, given, options] {
                gather_flags(*flags, options, *given);
                return run_train(*flags,
                                 config_of(options, {"--out", "--resume", "--config", "--quiet"}));
              },
          .given = given.get()};
}

}  // namespace shoal
