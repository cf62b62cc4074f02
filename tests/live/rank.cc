// One rank of a job that trains the quadratic, for the tests that kill it. Logs to a file of its
// own, one line per event:
//
//   pid 4711
//   view NANOSECONDS GENERATION MEMBERS
//   step NANOSECONDS STEP GENERATION
//   fenced NANOSECONDS
//   done NANOSECONDS STEP HASH
#include <fcntl.h>
#include <fmt/core.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <string>

#include "base/error.h"
#include "base/hash.h"
#include "launch/process.h"
#include "learner/quadratic.h"
#include "sync/sync.h"
#include "train/folder_checkpoint_store.h"

namespace shoal {
namespace {

constexpr Seed kSeed{2026};

// Thread safety: the loop's thread. Unbuffered: events before a SIGKILL are in the file.
class Log final : public Observer {
 public:
  explicit Log(const std::string& path)
      : file_(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {
    if (file_ < 0) throw ConfigError(fmt::format("cannot write '{}'", path));
    line(fmt::format("pid {}", getpid()));
  }
  void line(const std::string& text) {
    const std::string whole = text + '\n';
    if (write(file_, whole.data(), whole.size()) < 0) std::abort();
  }
  void on(const Event& event) override {
    switch (event.kind) {
      case EventKind::ViewSeen:
        return line(fmt::format("view {} {} {}", now(), event.generation, event.a));
      case EventKind::StepApplied:
        return line(fmt::format("step {} {} {}", now(), event.a, event.generation));
      case EventKind::FencedOut: return line(fmt::format("fenced {}", now()));
      case EventKind::WorkerDone:
        return line(fmt::format("done {} {} {:#x}", now(), event.a, event.b));
      default: return;
    }
  }

 private:
  static std::int64_t now() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
  }
  int file_;
};

struct Options {
  std::string folder;
  std::uint64_t steps = 1000;
  std::uint64_t dimensions = 50'000;
  std::uint64_t batch = 64;
  std::int64_t hang_rank = -1;  // sleeps forever after joining
};

Task<void> worker(Node& node, const Options& o) {
  if (node.id.value() == o.hang_rank) co_await node.env.sleep(std::chrono::hours(1));
  QuadraticOptions problem;
  problem.seed = kSeed;
  problem.dimensions = Elements(o.dimensions);
  problem.buckets = 4;
  QuadraticLearner learner(problem);
  FolderCheckpointStore checkpoints(node, "checkpoint", learner.layout());
  TrainingTask task;
  task.samples = 4096;
  task.global_batch = o.batch;
  task.steps = Step(o.steps);
  task.evaluate = false;
  task.audit = true;
  Replica replica(node.endpoint, learner, Ledger(kSeed, task.samples));
  const InStep recipe;
  co_await sync_worker(node, learner, checkpoints, replica, task, recipe);
}

int run(int argc, char** argv) {
  Options o;
  FromEnvironment env = process_from_environment(environment_of_this_process());
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const std::string value = argv[i + 1];
    if (name == "--folder") {
      o.folder = value;
    } else if (name == "--steps") {
      o.steps = std::stoull(value);
    } else if (name == "--dimensions") {
      o.dimensions = std::stoull(value);
    } else if (name == "--batch") {
      o.batch = std::stoull(value);
    } else if (name == "--hang-rank") {
      o.hang_rank = std::stoll(value);
    } else if (name == "--transports") {
      env.options.transports = {value};
    } else {
      throw ConfigError(fmt::format("unknown option {}", name));
    }
  }
  Log log(fmt::format("{}/rank-{}.log", o.folder, env.options.place.rank));
  env.options.folder = fmt::format("{}/files", o.folder);
  env.options.seed = kSeed;
  env.options.observer = &log;
  Process process(env.options);
  process.run([&](Node& node) { return worker(node, o); });
  return 0;
}

}  // namespace
}  // namespace shoal

int main(int argc, char** argv) {
  try {
    return shoal::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "rank: {}\n", error.what());
    return 1;
  }
}
