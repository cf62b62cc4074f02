// A job of `shoal launch`, from its command line to its exit status.
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

// The environment of this process.
std::map<std::string, std::string> whole_environment();

struct LaunchOptions {
  // The program.
  std::vector<std::string> program;    // with its arguments
  std::optional<std::uint32_t> ranks;  // by default as many as the hosts take
  std::string hosts;                   // "a,b:2"; empty: only this host
  std::vector<std::string> settings;   // "NAME=value", added to the environment
  std::string name;                    // by default that of the program
  std::string listen;                  // address[:port] of the coordinator
  std::string stores;                  // URLs of the etcd cluster
  std::uint32_t minimum = 1;           // with fewer processes the job waits
  // Supervision.
  JobPolicy policy;
  std::optional<bool> tag;   // print "[rank] " before each line; by default if there are several
                             // processes
  bool raw = false;          // pass bytes on unchanged: one of the processes prints
  bool kill_others = false;  // when one fails, kill the others instead of asking them to end
  // Printed at the first SIGINT or SIGTERM; a second one kills all. Empty: nothing is printed, and
  // only SIGINT counts.
  std::string stop_text;
  std::string speaker = "shoal launch";  // prefix of the launcher's own lines
  std::string called = "rank";           // the word for a process in them
  ProcessGroupOptions processes;
  // Surroundings.
  std::map<std::string, std::string> environment;
  std::string directory;
};

// Everything needed before the first process is started. Pure, except for the random name and
// token, and the search for the program and a free port.
struct JobPlan {
  std::vector<HostShare> shares;
  std::uint32_t world = 0;
  std::uint32_t minimum = 1;
  std::string name;
  std::string token;
  std::string master_addr;
  std::uint16_t master_port = 0;
  // The coordinator is in the launcher; otherwise in rank 0, or as the etcd cluster decides.
  bool office = false;
};
// Throws ConfigError, and CannotRun for a program that does not exist.
JobPlan plan_job(LaunchOptions& options);  // replaces the program's name by its path
ProcessPlan plan_process(const LaunchOptions& options, const JobPlan& plan, std::uint32_t rank,
                         std::uint32_t life);

// Blocks the signals that a Job handles. Call it before starting threads, which would get them
// otherwise.
void hold_signals();
void release_signals();  // when the job is over

// Thread safety: none; it belongs to the loop's thread. Handles SIGINT, SIGTERM, SIGHUP, SIGQUIT,
// SIGUSR1 and SIGUSR2 of the process and ignores SIGPIPE.
class Job {
 public:
  Job(LiveLoop& loop, Output& output, LaunchOptions options);

  // Called before the launcher's own reaction.
  void on_exit(ProcessGroup::OnExit hook) { on_exit_ = std::move(hook); }
  // Starts all processes, and stops the loop when all have ended and their output is written.
  // Throws CannotRun if one cannot be started; the others are killed then.
  void start();
  int status() const;
  void tell(const std::string& line);  // prints a line of the launcher to stderr
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
  int broken_ = 0;  // exit status if our own output cannot be written, or all were killed
};

}  // namespace shoal
