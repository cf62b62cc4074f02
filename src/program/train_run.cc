#include "program/train_run.h"

#include <fmt/core.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "program/build_info.h"
#include "program/config.h"
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

void handle_signals() {
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

std::vector<ConfigEntry> read_config(const fs::path& file) {
  const FileView view = map_file(file.string());
  return parse_config({reinterpret_cast<const char*>(view.bytes.data()), view.bytes.size()},
                      file.string());
}

// The settings of the run that is resumed, but for those that were given anew.
void apply_resumed(TrainFlags& flags, const std::vector<Option>& options,
                   const std::vector<std::string>& fixed) {
  const fs::path config = fs::path(flags.resume) / "config.toml";
  if (!fs::exists(config))
    throw ConfigError(fmt::format("--resume {}: there is no {}; is it the folder of a run?",
                                  flags.resume, config.string()));
  if (!flags.out.empty())
    throw ConfigError("--resume goes on in the run's own folder; leave --out away");
  apply_config(options, fixed, read_config(config), config.string());
  flags.out = flags.resume;
}

// ---- The run

void print_head(const TrainRun& run) {
  const Layout& layout = run.learner->layout();
  fmt::print("model     {}, {} parameters in {} tensors\n", run.plan.model,
             layout.parameters().value(), layout.parameter_tensors().size());
  fmt::print("data      {}: {}; {} samples to train, {} to test\n", run.dataset.name,
             describe(run.dataset.train->shape()), run.dataset.train->size(),
             run.dataset.test == nullptr ? 0 : run.dataset.test->size());
  fmt::print("training  {}, eta {} {}, batch {}, {} steps\n", describe(run.plan.rule), run.plan.eta,
             describe(run.plan.schedule), run.plan.batch, run.plan.steps);
  fmt::print("compute   {} ({})\n", describe(run.choice), run.choice.reason);
  fmt::print("run       {}\n\n", run.flags.out);
  std::fflush(stdout);
}

void print_end(const TrainRun& run) {
  const RunTotals& totals = run.result.totals;
  const Summary& s = run.result.summary;
  fmt::print("\n{}", epoch_table(totals.rows));
  if (totals.left) {
    fmt::print("\nstopped after step {} of {}; go on with: {} --resume {}\n", s.steps,
               run.plan.steps, run.program, run.flags.out);
    return;
  }
  fmt::print("\n{} steps in {}; {:.0f} samples/s", totals.steps, short_duration(s.wall_s),
             s.samples_per_s);
  if (s.test_accuracy == s.test_accuracy)
    fmt::print("; test accuracy {:.2f} %", 100 * s.test_accuracy);
  const std::string further = run.plan.epochs == 0
                                  ? fmt::format("--steps {}", 2 * run.plan.steps.value())
                                  : fmt::format("--epochs {}", 2 * run.plan.epochs);
  fmt::print(
      "\n\nrun folder    {0}: summary.json, metrics.jsonl, trace.json (ui.perfetto.dev), "
      "TensorBoard events\nmodel         {0}/checkpoint/step-{1}/model.safetensors\n\nTry next:\n"
      "  {2} --resume {0} {3}          train on\n{4}",
      run.flags.out, s.steps, run.program, further, run.hints);
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

void train_live(TrainRun& run) {
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

}  // namespace

fs::path new_run_folder(const TrainFlags& flags, const std::string& prefix) {
  std::string name = prefix;
  for (const char c : fs::path(flags.model).stem().string() + "-" + flags.data) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (plain || (!name.empty() && name.back() != '-')) name += plain ? c : '-';
  }
  if (name.size() > 60) name.resize(60);
  for (int i = 1;; ++i) {
    const fs::path folder = fs::path("runs") / (i == 1 ? name : fmt::format("{}-{}", name, i));
    if (!fs::exists(folder)) return folder;
  }
}

void require_fresh(const TrainFlags& flags) {
  if (!flags.resume.empty() || !fs::exists(fs::path(flags.out) / "config.toml")) return;
  throw ConfigError(fmt::format(
      "--out {}: a run is there already. Go on with it by --resume {}, or take another folder",
      flags.out, flags.out));
}

std::vector<ConfigEntry> gather_flags(TrainFlags& flags, const std::vector<Option>& options,
                                      const std::vector<std::string>& given) {
  std::vector<std::string> fixed = given;
  if (!flags.config.empty()) {
    const std::vector<ConfigEntry> entries = read_config(flags.config);
    apply_config(options, fixed, entries, flags.config);
    for (const ConfigEntry& entry : entries) fixed.push_back("--" + entry.key);
  }
  if (!flags.resume.empty()) apply_resumed(flags, options, fixed);
  return config_of(options, {"--out", "--resume", "--config", "--quiet"});
}

Dataset open_data(const TrainFlags& flags) {
  DatasetOptions options;
  options.seed = Seed(flags.seed);
  options.augment = flags.augment;
  options.length = flags.length;
  options.test_fraction = flags.test_fraction;
  return open_dataset(flags.data, options, map_file);
}

TrainRun::TrainRun(TrainFlags flags_, std::vector<ConfigEntry> config_, std::string program_)
    : flags(std::move(flags_)), config(std::move(config_)), program(std::move(program_)) {
  check_flags(flags);
  if (flags.workers != 1)
    throw ConfigError(fmt::format(
        "--workers {}: so far `train` runs one worker; `shoal simulate` takes any number",
        flags.workers));
  if (flags.out.empty()) flags.out = new_run_folder(flags, "").string();
  require_fresh(flags);
}

void TrainRun::use(Dataset data) {
  dataset = std::move(data);
  plan = plan_of(flags, dataset);
}

void TrainRun::note_memory() {
  plan.memory_before = memory_peak();
  plan.memory_peak = memory_peak;
}

TorchCompute TrainRun::compute() const {
  return {.threads = choice.threads,
          .flush_denormals = flags.denormals == "flush",
          .deterministic = flags.reproducible};
}

TorchLearnerOptions TrainRun::learner_options() const {
  TorchLearnerOptions options;
  options.seed = plan.seed;
  options.bucket_bytes = bucket_bytes_of(flags);
  options.channels_last = choice.channels_last;
  return options;
}

ExitCode TrainRun::train() {
  plan.config = config;
  plan.folder.wall_start_s = wall_clock_s();
  plan.folder.host = "node0";
  plan.notes = {{"shoal", describe(build_info())},
                {"libtorch", torch_version},
                {"compute", describe(choice)},
                {"optimizer", describe(plan.rule)}};
  if (!flags.quiet) print_head(*this);
  if (take_signals) handle_signals();
  train_live(*this);
  if (!flags.quiet) print_end(*this);
  return result.totals.left ? ExitCode::kStopped : ExitCode::kOk;
}

}  // namespace shoal
