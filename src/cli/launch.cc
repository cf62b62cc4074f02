// shoal launch: starts the processes of a job, on this host or on several, and supervises them.
#include <fmt/core.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "base/error.h"
#include "cli/commands.h"
#include "launch/launcher.h"
#include "launch/ranks.h"

namespace shoal {
namespace {

struct LaunchFlags {
  std::string ranks;
  std::uint64_t restarts = 0;
  bool keep_going = false;
  bool tag = false;
  bool no_tag = false;
  std::vector<std::string> settings;
  std::string hosts, stores, listen, name;
  std::vector<std::string> words;  // without the dashes
};

LaunchOptions job_options(const LaunchFlags& o, const std::vector<std::string>* program) {
  if (program == nullptr)
    throw ConfigError(fmt::format("launch: write -- before the program: shoal launch -n 4 -- {}",
                                  o.words.empty() ? "PROGRAM ARGUMENT..." : o.words.front()));
  if (!o.words.empty())
    throw ConfigError(
        fmt::format("launch: '{}' is not an option; the program comes after --", o.words.front()));
  if (o.tag && o.no_tag) throw ConfigError("launch: --tag-output and --no-tag exclude each other");
  LaunchOptions job;
  job.program = *program;
  if (!o.ranks.empty()) {
    const RankCount count = parse_rank_count("-n", o.ranks);
    job.ranks = count.most;
    job.minimum = count.least;
  }
  job.hosts = o.hosts;
  job.settings = o.settings;
  job.name = o.name;
  job.listen = o.listen;
  job.stores = o.stores;
  job.policy.restarts = o.restarts;
  job.policy.keep_going = o.keep_going;
  if (o.tag || o.no_tag) job.tag = o.tag;
  job.environment = whole_environment();
  job.directory = std::filesystem::current_path();
  return job;
}

ExitCode run_launch(const LaunchFlags& o, const std::vector<std::string>* program) {
  try {
    return static_cast<ExitCode>(run_job(job_options(o, program)));
  } catch (const CannotRun& error) {
    fmt::print(stderr, "shoal launch: {}\n", error.what());
    return static_cast<ExitCode>(error.status());
  }
}

}  // namespace

Command launch_command(const std::vector<std::string>* program) {
  auto o = std::make_shared<LaunchFlags>();
  return {
      .name = "launch",
      .summary =
          "start the processes of a job and supervise them: shoal launch -n 4 -- PROGRAM ...",
      .options =
          {{"-n,--ranks", "number of processes, or MIN:MAX; by default as many as --hosts names",
            &o->ranks},
           {"--restart", "restart failed processes, this many times in total", &o->restarts},
           {"--keep-going", "a failed process does not end the others", &o->keep_going},
           {"--tag-output", "print \"[rank] \" before each line, also for one process", &o->tag},
           {"--no-tag", "print lines unchanged, also for several processes", &o->no_tag},
           {"--env", "NAME=value ..., added to the environment", &o->settings},
           {"--hosts", "a,b:2: start the processes there by ssh ($SHOAL_SSH: another command)",
            &o->hosts},
           {"--store", "URL,URL of the etcd cluster that keeps the job's state", &o->stores},
           {"--listen", "ADDRESS[:PORT] where the job meets; by default loopback", &o->listen},
           {"--name", "name of the job; by default that of the program", &o->name},
           {"PROGRAM", "the program and its arguments, after --", &o->words}},
      .run = [o, program] { return run_launch(*o, program); }};
}

}  // namespace shoal
