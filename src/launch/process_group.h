// ProcessGroup: the processes of a job on this host, started and supervised by a LiveLoop.
//
//   ProcessGroup group(loop, output, {});
//   group.on_exit([&](std::uint32_t rank, const Ended& ended) { ... });
//   group.start(0, {.command = {"/bin/true"}, .environment = {...}});
//   loop.run();
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/types.h"
#include "launch/guard.h"
#include "launch/output.h"
#include "launch/program.h"
#include "runtime/live/loop.h"

namespace shoal {

// How to start a process.
struct ProcessPlan {
  std::vector<std::string> command;      // the first word is the path of the program
  std::vector<std::string> environment;  // "NAME=value", complete
  std::string prefix;                    // of each line that it prints; see raw
  // Passes its bytes on unchanged, not by lines: for a process that prints alone.
  bool raw = false;
  std::string token;  // passed by a descriptor; empty: none
  // It stands for a process on another host (ssh): its stdin begins with `greeting`, then carries
  // the names of signals, one per line, and closes when the process is to be killed. See remote.h.
  bool remote = false;
  std::string greeting;
};

struct ProcessGroupOptions {
  Duration grace = std::chrono::seconds(5);  // from SIGTERM to SIGKILL
  // For remaining children in its group, and other processes that hold its output open.
  Duration linger = std::chrono::seconds(1);
};

// Thread safety: none; it belongs to the loop's thread, which must not end before this object is
// destroyed, or the kernel ends the processes. Invariants:
// 1. on_exit is called once for each start(), after the last byte that the process has printed.
// 2. A process and its process group are dead when on_exit is called; all are dead when this object
//    is destroyed, even if this process is killed (the Guard sees to that).
// 3. No wait is unlimited: SIGKILL follows every request to end, and output that stays open then is
//    closed.
class ProcessGroup {
 public:
  using OnExit = std::function<void(std::uint32_t rank, const Ended& ended)>;

  ProcessGroup(LiveLoop& loop, Output& output, ProcessGroupOptions options);
  ~ProcessGroup();  // kills running processes
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  void on_exit(OnExit hook) { on_exit_ = std::move(hook); }
  // REQUIRES: no process of this rank is running. Throws CannotRun.
  void start(std::uint32_t rank, const ProcessPlan& plan);
  void signal(int signal);  // to all running processes and their children
  void end(int signal);     // the same, and SIGKILL to those left after the grace
  void kill();              // SIGKILL, at once
  std::size_t running() const { return processes_.size(); }
  bool ending() const { return ending_; }

 private:
  // One of the two output pipes.
  struct Pipe {
    Descriptor end;  // invalid: end of file was reached
    Stream stream{};
    std::unique_ptr<LineSplitter> lines;  // null: raw
  };
  struct Process {
    Child child;
    bool remote = false;
    Descriptor control;  // stdin of a remote process
    std::array<Pipe, 2> pipes;
    bool gone = false;  // it has ended; its output or its children may remain
    Ended ended;
    LiveLoop::Timer linger = nullptr;
    bool killed = false;
  };

  void send(Process& process, int signal);
  void exited(std::uint32_t rank);
  void readable(std::uint32_t rank, Pipe& pipe);
  bool pass_on(std::uint32_t rank, Pipe& pipe);
  void close(std::uint32_t rank, Pipe& pipe);
  void lingered(std::uint32_t rank);
  void finish_if_done(std::uint32_t rank);
  void pause();
  void resume();

  LiveLoop& loop_;
  Output& output_;
  const ProcessGroupOptions options_;
  Guard guard_;
  OnExit on_exit_;
  std::map<std::uint32_t, Process> processes_;  // by rank
  LiveLoop::Timer grace_ = nullptr;
  bool ending_ = false;
  bool paused_ = false;
};

}  // namespace shoal
