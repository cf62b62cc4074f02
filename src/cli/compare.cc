// shoal compare: runs several systems with the same task, data order, budget and links, then makes
// a report. Every run is a process of this program, with a folder of its own.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "app/budget.h"
#include "app/simulate_run.h"
#include "base/error.h"
#include "cli/commands.h"
#include "cli/compare_plan.h"
#include "cli/own_run.h"
#include "cli/run_report.h"
#include "recipe/registry.h"
#include "report/words.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kPilotSteps = 20;
constexpr double kSpare = 1.1;  // times the steps that the pilot predicts

// Options that every system gets from here, not from the command line.
constexpr const char* kOurs[] = {"--like",  "--out",    "--resume", "--config", "--epochs",
                                 "--steps", "--budget", "--seed",   "--quiet"};

struct Flags {
  TrainFlags train;
  SimulateFlags how;
  std::string like = "pytorch,downpour,petuum,easgd,gosgd,diloco";
  std::string budget = "60s";
  bool simulate = false;
  std::string tune = "none";
  std::uint64_t seeds = 1;
  std::string out;
  double target = 0;
};

bool is_ours(const Option& option) {
  return std::ranges::find(kOurs, last_name(option)) != std::end(kOurs);
}

std::vector<Option> task_options(Flags& flags) {
  std::vector<Option> options = simulate_options(flags.train, flags.how);
  std::erase_if(options, is_ours);
  return options;
}

struct RunEnd {
  bool ok = false;
  std::string folder;
  Summary summary;
  std::vector<double> ends;  // of all steps, in seconds of training time
  bool all_stepped = false;  // every worker has made a step
};

class Contest {
 public:
  Contest(const Flags& flags, std::vector<std::string> words)
      : flags_(flags),
        words_(std::move(words)),
        systems_(parse_systems(flags.like)),
        budget_(parse_budget(flags.budget)) {}

  // Returns the folders of all finished runs.
  std::vector<std::string> run() {
    std::vector<std::string> folders;
    for (const std::string& system : systems_) {
      const std::optional<std::vector<std::string>> terms = terms_of(system);
      for (std::uint64_t seed = 1; terms && seed <= flags_.seeds; ++seed) {
        std::vector<std::string> words = *terms;
        words.insert(words.end(), {"--seed", std::to_string(seed)});
        const RunEnd end = one(system, fmt::format("seed-{}", seed), words);
        if (end.ok) folders.push_back(end.folder);
      }
    }
    return folders;
  }
  const std::vector<std::string>& failed() const { return failed_; }

 private:
  // The length and learning rate of this system's run. Empty: it failed.
  std::optional<std::vector<std::string>> terms_of(const std::string& system) {
    std::optional<std::vector<std::string>> terms = length_of(system, 1);
    if (!terms || flags_.tune != "lr") return terms;
    // A third of the budget suffices: learning rates rank early.
    const auto third = length_of(system, 1.0 / 3);
    TrainFlags own = flags_.train;
    own.like = system;
    double best = kUnknown;
    std::string chosen;
    for (const double eta : eta_points(eta_of(own, rule_of(own)))) {
      std::vector<std::string> words = *third;
      words.insert(words.end(), {"--lr", fmt::format("{}", eta)});
      const RunEnd end = one(system, fmt::format("lr-{}", eta), words);
      if (!end.ok) continue;
      const Summary& s = end.summary;
      const double score = s.test_accuracy == s.test_accuracy ? s.test_accuracy
                           : s.test_loss == s.test_loss       ? -s.test_loss
                                                              : -s.train_loss;
      if (!(best == best) || score > best) {
        best = score;
        chosen = fmt::format("{}", eta);
      }
    }
    if (chosen.empty()) return std::nullopt;
    terms->insert(terms->end(), {"--lr", chosen});
    fmt::print("{:<20} lr {} of three\n", system, chosen);
    return terms;
  }

  std::optional<std::vector<std::string>> length_of(const std::string& system, double part) {
    if (budget_.epochs > 0) {
      const auto epochs = static_cast<double>(budget_.epochs) * part;
      return std::vector<std::string>{"--epochs", std::to_string(std::max<std::uint64_t>(
                                                      1, static_cast<std::uint64_t>(epochs)))};
    }
    if (!pilots_.contains(system)) pilots_[system] = pilot(system);
    const std::optional<Pilot> pilot = pilots_[system];
    if (!pilot) return std::nullopt;
    // The number of steps is for the schedule, which should come near its end; the time ends the
    // run.
    const double seconds = part * budget_.seconds;
    return std::vector<std::string>{"--steps", std::to_string(steps_in(kSpare * seconds, *pilot)),
                                    "--budget", fmt::format("{}s", seconds)};
  }

  // Empty: it failed. In virtual time two lengths reveal the cost of the first steps; live, the
  // difference of two short runs would be noise.
  std::optional<Pilot> pilot(const std::string& system) {
    Pilot pilot;
    std::uint64_t steps = kPilotSteps;
    for (int attempt = 1;; ++attempt) {
      const RunEnd end = one(system, fmt::format("pilot-{}", attempt),
                             {"--steps", std::to_string(steps), "--seed", "1"});
      if (!end.ok) return std::nullopt;
      // Steps as requested: servers count updates.
      Pilot now{steps, end.summary.wall_s};
      if (!flags_.simulate) now = steady(now, end.ends);
      if (attempt == 2) return flags_.simulate ? between(pilot, now) : now;
      pilot = now;
      steps = flags_.simulate ? 4 * steps : longer_pilot(now, budget_.seconds, end.all_stepped);
      if (steps == 0) return now;
    }
  }

  RunEnd one(const std::string& system, const std::string& name,
             const std::vector<std::string>& terms) {
    const fs::path folder = fs::path(flags_.out) / system / name;
    fs::create_directories(folder.parent_path());
    std::vector<std::string> words{flags_.simulate ? "simulate" : "train", "--like", system};
    words.insert(words.end(), words_.begin(), words_.end());
    words.insert(words.end(), terms.begin(), terms.end());
    words.insert(words.end(), {"--out", folder.string(), "--quiet"});
    fmt::print("{:<20} {:<10} ", system, name);
    std::fflush(stdout);
    const OwnRun run = run_own(words, folder.string() + ".log");
    RunEnd end;
    end.folder = folder.string();
    end.ok = run.ok;
    if (!end.ok) {
      fmt::print("failed: {}\n", run.why);
      failed_.push_back(fmt::format("{} {}: {}", system, name, run.why));
      return end;
    }
    const FinishedRun finished = read_run(folder);
    end.summary = finished.summary;
    std::set<NodeId> stepped;
    for (const StepLine& line : finished.steps) {
      end.ends.push_back(finished.trained_s(line.clock_s));
      stepped.insert(line.node);
    }
    const Summary& s = end.summary;
    end.all_stepped = stepped.size() >= s.workers;
    fmt::print("{:>9} {:>12} samples/s", time_text(s.wall_s), plain_text(s.samples_per_s));
    if (s.test_accuracy == s.test_accuracy) fmt::print("  {}", percent_text(s.test_accuracy));
    fmt::print("\n");
    std::fflush(stdout);
    return end;
  }

  const Flags& flags_;
  std::vector<std::string> words_;  // of the task, the same for all
  std::vector<std::string> systems_;
  TrainingBudget budget_;
  std::map<std::string, std::optional<Pilot>> pilots_;
  std::vector<std::string> failed_;
};

void check(const Flags& flags, const std::vector<Option>& options,
           const std::vector<std::string>& given) {
  if (flags.seeds == 0 || flags.seeds > 100)
    throw ConfigError(fmt::format("--seeds {}: take 1 to 100", flags.seeds));
  if (flags.tune == "lr" && std::ranges::find(given, "--lr") != given.end())
    throw ConfigError("--tune lr and --lr exclude each other");
  TrainFlags unused;
  const std::vector<Option> live = train_options(unused);
  for (const Option& option : options) {
    const auto same = [&](const Option& o) { return last_name(o) == last_name(option); };
    const bool asked = std::ranges::find(given, last_name(option)) != given.end();
    if (asked && !flags.simulate && std::ranges::none_of(live, same))
      throw ConfigError(
          fmt::format("{} is for simulated runs: add --simulate, or omit it", last_name(option)));
  }
  for (const std::string& system : parse_systems(flags.like)) {
    TrainFlags own = flags.train;
    own.like = system;
    check_flags(own);
  }
}

ExitCode run_compare(Flags& flags, const std::vector<Option>& options,
                     const std::vector<std::string>& given) {
  std::vector<std::string> words = words_of(options, given);
  if (flags.train.workers == "auto") {
    flags.train.workers =
        std::to_string(flags.simulate ? 4 : std::clamp(cores_of_this_machine(), 2, 4));
    words.insert(words.end(), {"--workers", flags.train.workers});
  }
  check(flags, options, given);
  if (flags.out.empty()) flags.out = new_run_folder(flags.train, "compare-").string();
  if (fs::exists(flags.out) && !fs::is_empty(flags.out))
    throw ConfigError(fmt::format("--out {}: it exists already; take another folder", flags.out));

  Contest contest(flags, words);
  const std::vector<std::string> folders = contest.run();
  if (folders.empty())
    throw DataError(fmt::format("no run finished; the logs are in {}", flags.out));
  std::vector<FinishedRun> runs;
  for (const std::string& folder : folders) runs.push_back(read_run(folder));
  Comparison comparison =
      compare_runs(runs, flags.target > 0 ? std::optional(flags.target) : std::nullopt);
  for (const std::string& failure : contest.failed())
    comparison.notes.push_back("Failed: " + failure);
  fmt::print("\n{}", text_of(comparison, screen_of_stdout().width));
  write_report(comparison, fs::path(flags.out) / "report.html");
  return contest.failed().empty() ? ExitCode::kOk : ExitCode::kUsage;
}

}  // namespace

Command compare_command() {
  auto flags = std::make_shared<Flags>();
  auto given = std::make_shared<std::vector<std::string>>();
  const std::vector<Option> task = task_options(*flags);
  std::vector<Option> options = {
      {"--like", "the systems, a,b,c; `shoal systems` has them", &flags->like},
      {"--budget", "for each system: a training time, 60s, 5min, or epochs, 5epochs",
       &flags->budget},
      {"--simulate", "in the simulator, with its options", &flags->simulate},
      {"--tune",
       "lr: for each system the best of three learning rates, tried on a third of the budget",
       &flags->tune,
       false,
       {"none", "lr"}},
      {"--seeds", "runs of each system, for error bars", &flags->seeds},
      {"--target",
       "the test accuracy or loss to reach; 0: the best value that half of them reached",
       &flags->target},
      {"--out", "the folder; by default a new one in runs/", &flags->out},
  };
  options.insert(options.end(), task.begin(), task.end());
  return {.name = "compare",
          .summary = "run several systems on the same task and budget, and make a report",
          .options = options,
          .run = [flags, given, task] { return run_compare(*flags, task, *given); },
          .given = given.get()};
}

}  // namespace shoal
