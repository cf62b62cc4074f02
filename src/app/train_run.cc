#include "app/train_run.h"

#include <fmt/core.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "app/budget.h"
#include "app/build_info.h"
#include "app/config.h"
#include "app/predict.h"
#include "base/error.h"
#include "launch/job.h"
#include "runtime/live/mapped_file.h"
#include "runtime/live/posix_files.h"
#include "transport/inproc_world.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

// ---- Signals: the first asks for a checkpoint and an end, the second ends at once.

std::atomic<bool> stop_asked = false;
std::atomic<bool> stop_is_told = false;  // by the launcher

void on_signal(int signal) {
  if (stop_asked.exchange(true)) _exit(128 + signal);
  if (stop_is_told) return;
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

// lenet-fashion-mnist
std::string run_name(const TrainFlags& flags) {
  std::string name;
  for (const char c : fs::path(flags.model).stem().string() + "-" + flags.data) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (plain || (!name.empty() && name.back() != '-')) name += plain ? c : '-';
  }
  if (name.size() > 60) name.resize(60);
  return name;
}

std::vector<ConfigEntry> read_config(const fs::path& file) {
  const FileView view = map_file(file.string());
  return parse_config({reinterpret_cast<const char*>(view.bytes.data()), view.bytes.size()},
                      file.string());
}

// Applies the settings of the resumed run, except those given on the command line.
void apply_resumed(TrainFlags& flags, const std::vector<Option>& options,
                   const std::vector<std::string>& fixed) {
  const fs::path config = fs::path(flags.resume) / "config.toml";
  if (!fs::exists(config))
    throw ConfigError(fmt::format("--resume {}: there is no {}; is it the folder of a run?",
                                  flags.resume, config.string()));
  if (!flags.out.empty())
    throw ConfigError("--resume continues in the run's own folder; omit --out");
  const std::vector<ConfigEntry> entries = read_config(config);
  apply_config(options, fixed, entries, config.string());
  flags.out = flags.resume;

  // For any number of workers, the number of steps and the global batch stay those of the run.
  const auto is_fixed = [&](const char* name) {
    return std::ranges::find(fixed, name) != fixed.end();
  };
  // Epochs replace the number of steps.
  if (is_fixed("--epochs") && !is_fixed("--steps")) flags.steps = 0;
  if (!is_fixed("--workers") || is_fixed("--batch") || flags.global_batch != 0) return;
  if (keeps_worker_batches(recipe_of(flags))) return;
  for (const ConfigEntry& entry : entries) {
    const std::string* const text = std::get_if<std::string>(&entry.value);
    if (entry.key == "workers" && text != nullptr)
      flags.global_batch = flags.batch * parse_rank_count("workers", *text).most;
  }
}

// ---- The run

void print_head(const TrainRun& run) {
  const Layout& layout = run.learner->layout();
  fmt::print("model     {}, {} parameters in {} tensors\n", run.plan.model,
             layout.parameters().value(), layout.parameter_tensors().size());
  fmt::print("data      {}: {}; {} samples to train, {} to test\n", run.dataset.name,
             describe(run.dataset.train->shape()), run.dataset.train->size(),
             run.dataset.test == nullptr ? 0 : run.dataset.test->size());
  const std::string growth = describe(run.plan.growth);
  fmt::print("training  {}, eta {} {}, batch {}{}, {}\n", describe(run.plan.rule), run.plan.eta,
             describe(run.plan.schedule), run.plan.batch,
             growth.empty() ? "" : fmt::format(" times {}", growth), length_text(run.plan));
  if (run.topology.role == ProcessRole::Launcher)
    fmt::print(
        "workers   {} processes{}{}, {} samples a step in all\n", run.plan.workers,
        run.topology.servers == 0 ? "" : fmt::format(" and {} servers", run.topology.servers),
        run.topology.workers.least == 1 ? ""
                                        : fmt::format(", at least {}", run.topology.workers.least),
        run.plan.global_batch);
  fmt::print("compute   {} ({})\n", describe(run.choice), run.choice.reason);
  if (run.plan.predicted) fmt::print("predicted {}\n", describe(*run.plan.predicted));
  fmt::print("run       {}\n\n", run.flags.out);
  std::fflush(stdout);
}

void print_end(const TrainRun& run) {
  const RunTotals& totals = run.result.totals;
  const Summary& s = run.result.summary;
  fmt::print("\n{}", epoch_table(totals.rows));
  if (totals.left) {
    fmt::print("\nstopped after step {}{}; continue with: {} --resume {}\n", s.steps,
               run.plan.by_time ? "" : fmt::format(" of {}", run.plan.steps), run.program,
               run.flags.out);
    return;
  }
  if (totals.steps == Step(0)) {
    fmt::print("\nthe run has finished: step {} of {}; to continue, raise --epochs or --steps\n",
               s.steps, run.plan.steps);
    return;
  }
  const bool serves = is<Served>(run.plan.recipe);
  fmt::print("\n{} {} in {}; {:.0f} samples/s", serves ? s.steps : totals.steps,
             serves ? "updates" : "steps", short_duration(s.wall_s), s.samples_per_s);
  if (s.staleness.pushes > 0)
    fmt::print("; staleness {:.2f}, at most {}", s.staleness.mean(), s.staleness.most);
  if (s.test_accuracy == s.test_accuracy)
    fmt::print("; test accuracy {:.2f} %", 100 * s.test_accuracy);
  if (s.predicted_step_s)
    fmt::print(
        "\na step took {:.4g} ms, predicted were {:.4g}; sent in each {:.4g} MB, predicted {:.4g}",
        1e3 * s.measured_step_s, 1e3 * *s.predicted_step_s, 1e-6 * s.measured_bytes_per_step,
        1e-6 * *s.predicted_bytes_per_step);
  const std::string further =
      run.plan.budget > Duration::zero() ? fmt::format("--budget {}", run.flags.budget)
      : run.plan.epochs == 0             ? fmt::format("--steps {}", 2 * run.plan.steps.value())
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

}  // namespace

Screen screen_of_stdout() {
  Screen screen;
  screen.terminal = isatty(STDOUT_FILENO) == 1;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) screen.width = size.ws_col;
  return screen;
}

double wall_clock_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

const std::atomic<bool>* stop_flag() { return &stop_asked; }

RunJournalOptions journal_options(const TrainRun& run) {
  RunJournalOptions journal;
  set_length(journal, run.plan);
  journal.nodes = run.plan.workers + servers_of(run.plan.recipe);
  journal.screen = run.handed ? run.handed->screen : screen_of_stdout();
  journal.quiet = run.flags.quiet;
  journal.print = [](const std::string& text) {
    fmt::print("{}", text);
    std::fflush(stdout);
  };
  journal.warn = [](const std::string& text) { fmt::print(stderr, "shoal: warning: {}\n", text); };
  return journal;
}

fs::path new_run_folder(const TrainFlags& flags, const std::string& prefix) {
  const std::string name = prefix + run_name(flags);
  for (int i = 1;; ++i) {
    const fs::path folder = fs::path("runs") / (i == 1 ? name : fmt::format("{}-{}", name, i));
    if (!fs::exists(folder)) return folder;
  }
}

void require_fresh(const TrainFlags& flags) {
  if (!flags.resume.empty() || !fs::exists(fs::path(flags.out) / "config.toml")) return;
  throw ConfigError(
      fmt::format("--out {}: this folder contains a run. Continue it with --resume {}, or choose "
                  "another folder",
                  flags.out, flags.out));
}

namespace {

// A budget in epochs sets --epochs. With a budget in time, only the time ends the run, unless
// --epochs or --steps is given.
void apply_budget(TrainFlags& flags, const std::vector<std::string>& fixed) {
  if (flags.budget.empty()) return;
  const TrainingBudget budget = parse_budget(flags.budget);
  const auto is_fixed = [&](const char* name) {
    return std::ranges::find(fixed, name) != fixed.end();
  };
  const bool counted = is_fixed("--epochs") || is_fixed("--steps");
  if (budget.epochs > 0 && counted && is_fixed("--budget"))
    throw ConfigError(
        fmt::format("--budget {}, and --epochs or --steps: take one of them", flags.budget));
  if (budget.epochs > 0) {
    flags.epochs = budget.epochs;
    flags.steps = 0;
    flags.budget.clear();
  } else if (!counted && flags.resume.empty()) {
    flags.epochs = kEndlessEpochs;
    if (!is_fixed("--schedule")) flags.schedule = "constant";
  }
}

}  // namespace

std::vector<ConfigEntry> gather_flags(TrainFlags& flags, const std::vector<Option>& options,
                                      const std::vector<std::string>& given) {
  std::vector<std::string> fixed = given;
  if (!flags.config.empty()) {
    const std::vector<ConfigEntry> entries = read_config(flags.config);
    apply_config(options, fixed, entries, flags.config);
    for (const ConfigEntry& entry : entries) fixed.push_back("--" + entry.key);
  }
  // Another launcher decides how many workers there are, not the resumed run.
  const bool counted = place_from_environment(environment_of_this_process()).world > 1;
  if (counted || !flags.hosts.empty()) fixed.emplace_back("--workers");
  if (!flags.resume.empty()) apply_resumed(flags, options, fixed);
  apply_budget(flags, fixed);
  return config_of(options,
                   {"--out", "--resume", "--config", "--quiet", "--hosts", "--store", "--listen"});
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
  const Lookup environment = environment_of_this_process();
  place = place_from_environment(environment);
  handed = handed_on(environment);
  topology = topology_of(flags, place, handed.has_value());
  for (ConfigEntry& entry : config)
    if (entry.key == "workers") entry.value = to_string(topology.workers);
  if (handed) {
    flags.out = handed->folder;
    return;
  }
  // Under another launcher all workers must compute the same folder name, so it contains the job's
  // name.
  if (flags.out.empty())
    flags.out = place.world > 1
                    ? fs::path("runs") / fmt::format("{}-{}", run_name(flags), place.job)
                    : new_run_folder(flags, "");
  // Only rank 0 in its first life checks: other workers may have written to the folder already.
  if (place.rank == 0 && place.life == 1) require_fresh(flags);
}

void TrainRun::use(Dataset data) {
  dataset = std::move(data);
  plan = plan_of(flags, dataset, topology.workers.most, topology.hosts);
}

int TrainRun::processes_here() const {
  if (topology.role == ProcessRole::Alone) return 1;
  // If the number of processes on this host is unknown, assume all.
  const bool told = topology.role == ProcessRole::Worker && place.local_world != 0;
  return static_cast<int>(told ? place.local_world : topology.processes());
}

int TrainRun::cores() const { return std::max(1, cores_of_this_machine() / processes_here()); }

void TrainRun::before_threads() {
  if (topology.role == ProcessRole::Launcher) hold_signals();
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
  options.factors = takes_factors(plan.recipe);
  options.channels_last = choice.channels_last;
  return options;
}

ExitCode TrainRun::train() {
  plan.config = config;
  plan.folder.wall_start_s = handed ? handed->begun_s : wall_clock_s();
  plan.folder.host = fmt::format("node{}", place.rank);
  plan.notes = {{"shoal", describe(build_info())},
                {"libtorch", torch_version},
                {"compute", describe(choice)},
                {"optimizer", describe(plan.rule)},
                {"started_s", fmt::format("{:.6f}", plan.folder.wall_start_s)}};
  const bool first = topology.role != ProcessRole::Worker || (!handed && place.rank == 0);
  if (!flags.quiet && first) print_head(*this);
  if (topology.role == ProcessRole::Launcher) {
    if (!plan.take_state) learner.reset();
    return launch_workers(*this);
  }

  if (handed) plan.predicted = handed->predicted;
  stop_is_told = handed.has_value();
  if (take_signals || handed) handle_signals();
  RunJournalOptions journal = journal_options(*this);
  if (topology.role == ProcessRole::Alone) journal.stop = &stop_asked;
  // A single worker computes inline: a compute thread would slow down small models, and no peer
  // waits for this node's messages.
  const ExitCode code = carry_out(
      [&](Node& node) { return train_worker(node, *learner, plan, journal, result); }, false);
  const bool ended = code == ExitCode::kOk || code == ExitCode::kStopped;
  if (!flags.quiet && ended && result.totals.speaks) print_end(*this);
  return code;
}

ExitCode TrainRun::carry_out(const NodeProgram& node_program, bool computes) {
  if (topology.role == ProcessRole::Worker) return work_in_job(*this, node_program);
  InprocOptions world_options;
  world_options.seed = plan.seed;
  world_options.compute_threads = computes;
  world_options.io_threads = true;
  world_options.limit = std::chrono::hours(24 * 365 * 10);
  InprocWorld world(world_options,
                    [&](Env& env, NodeId) { return std::make_unique<PosixFiles>(env, flags.out); });
  rethrow_failure(world.run(node_program));
  return result.totals.left ? ExitCode::kStopped : ExitCode::kOk;
}

}  // namespace shoal
