#include "app/workers.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "app/train_run.h"
#include "app/waits.h"
#include "base/error.h"
#include "checkpoint/model_file.h"
#include "launch/descriptor.h"
#include "launch/hosts.h"
#include "launch/launcher.h"
#include "launch/process.h"
#include "runtime/live/live_env.h"
#include "runtime/live/mapped_file.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// A step and a checkpoint may take long; a second signal does not wait for them.
constexpr Duration kStopLimit = 60s;
// For all workers to open their data and make their models.
constexpr Duration kFormLimit = 20s;

// 0 of none.
std::uint32_t ranks_of(const std::string& hosts) {
  std::uint32_t ranks = 0;
  if (hosts.empty()) return ranks;
  for (const HostShare& share : deal_ranks(hosts, std::nullopt)) ranks += share.count;
  return ranks;
}

// This program as it was started.
std::vector<std::string> own_command() {
  std::vector<std::string> words{fs::read_symlink("/proc/self/exe").string()};
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string word;
  std::getline(file, word, '\0');  // the name by which it was started
  while (std::getline(file, word, '\0')) words.push_back(word);
  return words;
}

// ---- The error of the first worker that failed: its kind, a newline, its words

const char* kind_of(const std::exception& error) {
  if (dynamic_cast<const ConfigError*>(&error) != nullptr) return "config";
  if (dynamic_cast<const DataError*>(&error) != nullptr) return "data";
  return "other";
}

// False: it could not be written. What another has written before stays.
bool write_first(const std::string& file, const std::string& text) {
  if (file.empty()) return false;
  const Descriptor opened(open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!opened.valid()) return errno == EEXIST;
  return write(opened.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

ExitCode report(const std::exception& error, const std::string& file) {
  const std::string kind = kind_of(error);
  if (!write_first(file, fmt::format("{}\n{}", kind, error.what())))
    fmt::print(stderr, "shoal: {}\n", error.what());
  return kind == "other" ? ExitCode::kCrash : ExitCode::kUsage;
}

void rethrow_reported(const std::string& file) {
  std::ifstream stream(file);
  std::string kind;
  if (!std::getline(stream, kind)) return;
  std::ostringstream words;
  words << stream.rdbuf();
  stream.close();
  fs::remove(file);
  if (kind == "config") throw ConfigError(words.str());
  if (kind == "data") throw DataError(words.str());
  throw Error(words.str());
}

LaunchOptions launch_options(const TrainRun& run) {
  LaunchOptions o;
  o.program = own_command();
  const bool counted = run.flags.hosts.empty() || run.flags.workers != "auto";
  if (counted) o.ranks = run.topology.processes();
  o.minimum = run.topology.workers.least;
  o.hosts = run.flags.hosts;
  o.stores = run.flags.store;
  o.listen = run.flags.listen;
  o.policy.restarts = run.flags.restarts;
  o.policy.only_killed = true;
  o.policy.stopped = static_cast<int>(ExitCode::kStopped);
  o.kill_others = true;  // The state before a failed step may be invalid: it is not saved.
  o.processes.grace = kStopLimit;
  o.tag = false;
  o.raw = true;
  o.stop_text = "stopping after this step, with a checkpoint; again: at once";
  o.speaker = "shoal";
  o.called = "worker";
  o.environment = whole_environment();
  o.directory = fs::current_path();
  return o;
}

}  // namespace

ProcessTopology topology_of(const TrainFlags& flags, const Place& place, bool launched) {
  ProcessTopology topology;
  const bool counted = flags.workers != "auto";
  if (counted) topology.workers = parse_rank_count("--workers", flags.workers);
  topology.servers = servers_of(recipe_of(flags));
  const bool started = place.world > 1 || launched;
  const std::uint32_t processes = started ? place.world : ranks_of(flags.hosts);
  if (!counted && processes > 0) {
    if (processes <= topology.servers)
      throw ConfigError(fmt::format("--servers {}: of {} processes none is left to be a worker",
                                    topology.servers, processes));
    topology.workers.most = processes - topology.servers;
  }
  if (started && topology.processes() != processes)
    throw ConfigError(
        fmt::format("--workers {}{}: {} has started {} processes; omit --workers", flags.workers,
                    topology.servers == 0 ? "" : fmt::format(" and --servers {}", topology.servers),
                    place.source, processes));
  if (!started && !flags.hosts.empty())
    topology.hosts = deal_ranks(flags.hosts, std::nullopt).size();
  if (started && place.local_world > 0)
    topology.hosts = (place.world + place.local_world - 1) / place.local_world;
  if (started) {
    topology.role = ProcessRole::Worker;
  } else if (topology.processes() > 1 || !flags.hosts.empty()) {
    topology.role = ProcessRole::Launcher;
  }
  return topology;
}

std::vector<std::string> to_settings(const LauncherHandoff& handed) {
  std::vector<std::string> settings;
  const auto add = [&](const char* name, const std::string& value) {
    settings.push_back(fmt::format("{}={}", name, value));
  };
  add("SHOAL_RUN_FOLDER", handed.folder);
  add("SHOAL_RUN_COMPUTE", fmt::format("{} {} {}", handed.compute.threads,
                                       handed.compute.channels_last ? 1 : 0, handed.compute.blas));
  if (!handed.compute.blas.empty()) add("OPENBLAS_CORETYPE", handed.compute.blas);
  if (handed.predicted)
    add("SHOAL_RUN_PREDICTED",
        fmt::format("{} {}", handed.predicted->step_s, handed.predicted->bytes_per_step));
  add("SHOAL_RUN_BEGUN", fmt::format("{:.6f}", handed.begun_s));
  if (handed.screen.terminal) add("SHOAL_RUN_COLUMNS", std::to_string(handed.screen.width));
  if (!handed.error_file.empty()) add("SHOAL_RUN_ERROR", handed.error_file);
  return settings;
}

std::optional<LauncherHandoff> handed_on(const Lookup& lookup) {
  const auto folder = lookup("SHOAL_RUN_FOLDER");
  if (!folder) return std::nullopt;
  LauncherHandoff handed;
  handed.folder = *folder;
  std::istringstream compute(lookup("SHOAL_RUN_COMPUTE").value_or("1 0"));
  compute >> handed.compute.threads >> handed.compute.channels_last >> handed.compute.blas;
  handed.compute.reason = "chosen by the launcher";
  Prediction predicted;
  std::istringstream told(lookup("SHOAL_RUN_PREDICTED").value_or(""));
  if (told >> predicted.step_s >> predicted.bytes_per_step) handed.predicted = predicted;
  std::istringstream(lookup("SHOAL_RUN_BEGUN").value_or("0")) >> handed.begun_s;
  if (const auto columns = lookup("SHOAL_RUN_COLUMNS")) {
    handed.screen.terminal = true;
    std::istringstream(*columns) >> handed.screen.width;
  }
  handed.error_file = lookup("SHOAL_RUN_ERROR").value_or("");
  return handed;
}

ExitCode launch_workers(const TrainRun& run) {
  LauncherHandoff handed;
  handed.folder = run.flags.out;
  handed.compute = run.choice;
  handed.predicted = run.plan.predicted;
  handed.begun_s = run.plan.folder.wall_start_s;
  handed.screen = screen_of_stdout();
  if (run.flags.hosts.empty())
    handed.error_file = (fs::absolute(run.flags.out) / "error.txt").string();
  fs::create_directories(run.flags.out);
  fs::remove(fs::path(run.flags.out) / "error.txt");

  LaunchOptions options = launch_options(run);
  options.settings = to_settings(handed);
  CoordinatorOptions views;
  views.form_limit = kFormLimit;
  const int status = run_job(std::move(options), views);
  release_signals();
  const bool ended =
      status == static_cast<int>(ExitCode::kOk) || status == static_cast<int>(ExitCode::kStopped);
  if (!ended && !handed.error_file.empty()) rethrow_reported(handed.error_file);
  return static_cast<ExitCode>(status);
}

ExitCode work_in_job(TrainRun& run, const NodeProgram& program) {
  const std::string error_file = run.handed ? run.handed->error_file : "";
  try {
    FromEnvironment env = process_from_environment(environment_of_this_process());
    ProcessOptions& o = env.options;
    if (o.place.one_host()) o.transports = {"shm"};
    o.folder = run.flags.out;
    o.seed = run.plan.seed;
    const int computing = run.processes_here() * run.choice.threads;
    o.awake = who_stays_awake(run.flags.waits, computing, cores_of_this_machine());
    o.roams =
        leaves_slow_cores(run.flags.cores, run.choice.threads, computing, cores_of_this_machine());
    if (o.place.rank >= run.plan.workers) {
      o.role = Role::Server;
      o.compute_thread = false;  // It computes nothing but what it was asked for.
    }
    o.views.form_limit = kFormLimit;
    const std::size_t least = run.topology.workers.least;
    const bool decides = o.coordinate || !o.etcd.empty();
    if (!decides && least > o.views.minimum)
      throw ConfigError(
          fmt::format("--workers {}: here the launcher coordinates; say shoal launch -n {}",
                      run.flags.workers, run.flags.workers));
    o.views.minimum = std::max(o.views.minimum, least);
    o.stop = stop_flag();
    const double before_s = wall_clock_s() - run.plan.folder.wall_start_s;
    o.origin -= std::chrono::duration_cast<std::chrono::steady_clock::duration>(
        std::chrono::duration<double>(before_s));
    Process process(o);
    process.run(program);
  } catch (const NeverJoined&) {
    run.result.totals.left = true;
    run.result.totals.speaks = false;
  } catch (const std::exception& error) {
    return report(error, error_file);
  }
  return run.result.totals.left ? ExitCode::kStopped : ExitCode::kOk;
}

void take_result(TrainRun& run) {
  const fs::path folder = run.flags.out;
  const auto read = [](const fs::path& path) { return map_file(path.string()); };
  const FileView summary = read(folder / "summary.json");
  run.result.summary =
      parse_summary({reinterpret_cast<const char*>(summary.bytes.data()), summary.bytes.size()},
                    (folder / "summary.json").string());
  if (!run.plan.take_state) return;
  const fs::path file =
      folder / "checkpoint" / fmt::format("step-{}", run.result.summary.steps) / kModelFile;
  const FileView model = read(file);
  std::vector<float> state(run.learner->layout().all().value());
  LiveLoop loop;
  LiveEnv env(loop, {});
  run_task(loop, load_model(env, run.learner->layout(), model.bytes, file.string(),
                            mut_buf(std::span<float>(state))));
  run.plan.take_state(state);
}

}  // namespace shoal
