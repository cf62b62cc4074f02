// A job, from the command line of `shoal launch` to its exit status.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launch/hosts.h"
#include "launch/output.h"
#include "launch/place.h"
#include "launch/process_group.h"
#include "launch/verdict.h"
#include "runtime/live/loop.h"

namespace shoal {

// Of this process.
std::map<std::string, std::string> whole_environment();

struct LaunchOptions {
  // What is run.
  std::vector<std::string> program;    // with its arguments
  std::optional<std::uint32_t> ranks;  // by default what the hosts take
  std::string hosts;                   // "a,b:2"; empty: this one alone
  std::vector<std::string> settings;   // "NAME=value", added to the environment
  std::string name;                    // of the job; by default after the program
  std::string listen;                  // address[:port] where the job meets
  std::string stores;                  // URLs of the etcd cluster
  std::uint32_t minimum = 1;           // with fewer processes the job waits
  // How it is watched.
  JobPolicy policy;
  std::optional<bool> tag;   // "[rank] " before each line; by default when there are several
  bool raw = false;          // bytes are passed on as they come: one of the processes prints
  bool kill_others = false;  // when one fails by itself they are not asked to end
  // Said at the first SIGINT or SIGTERM; a second one kills all. Empty: nothing is said, and only
  // SIGINT counts.
  std::string stop_text;
  std::string speaker = "shoal launch";  // before the launcher's own lines
  std::string called = "rank";           // what a process is called in them
  ProcessGroupOptions processes;
  // Where it is started.
  std::map<std::string, std::string> environment;
  std::string directory;
};

// All that has to be known before the first process is started. Pure, but for the random name and
// token, and for looking up the program and a free port.
struct JobPlan {
  std::vector<HostShare> shares;
  std::uint32_t world = 0;
  std::uint32_t minimum = 1;
  std::string name;
  std::string token;
  std::string master_addr;
  std::uint16_t master_port = 0;
  // The coordinator is in the launcher; else in rank 0, or wherever the etcd cluster says.
  bool office = false;
};
// Throws ConfigError, and CannotRun for a program that does not exist.
JobPlan plan_job(LaunchOptions& options);  // replaces the program's name by its path
ProcessPlan plan_process(const LaunchOptions& options, const JobPlan& plan, std::uint32_t rank,
                         std::uint32_t life);

// Blocks the signals that a Job takes over. For whoever starts threads before: those would get
// them.
void hold_signals();
void release_signals();  // when it is over

// Thread safety: none; it belongs to the loop's thread. Takes over SIGINT, SIGTERM, SIGHUP,
// SIGQUIT, SIGUSR1 and SIGUSR2 of the process and ignores SIGPIPE.
class Job {
 public:
  Job(LiveLoop& loop, Output& output, LaunchOptions options);

  // Beside the launcher's own reaction, which follows.
  void on_exit(ProcessGroup::OnExit hook) { on_exit_ = std::move(hook); }
  // Starts all, and stops the loop when all have ended and their output is written.
  // Throws CannotRun when one cannot be started; those that were are killed.
  void start();
  int status() const;
  void tell(const std::string& line);  // a line of the launcher's own, to stderr
  const JobPlan& plan() const { return plan_; }

 private:
  void take_signals();
  void interrupted(int signal);
  void exited(std::uint32_t rank, const Ended& ended);
  void output_failed(Stream stream, int error);
  void say(const std::string& what);
  std::string name_of(std::uint32_t rank) const;

  LiveLoop& loop_;
  Output& output_;
  LaunchOptions options_;
  JobPlan plan_;
  Verdict verdict_;
  ProcessGroup group_;
  ProcessGroup::OnExit on_exit_;
  std::vector<std::uint32_t> lives_;  // by rank
  int interrupts_ = 0;
  int broken_ = 0;  // status when our own output cannot be written, or all were killed
};

}  // namespace shoal
