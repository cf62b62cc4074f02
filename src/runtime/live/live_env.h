// LiveEnv: Env with a real clock, real work and real waiting.
#pragma once

#include <deque>
#include <memory>

#include "base/recorder.h"
#include "base/types.h"
#include "runtime/env.h"
#include "runtime/live/compute_thread.h"
#include "runtime/live/loop.h"

namespace shoal {

struct LiveEnvOptions {
  NodeId node{};
  Incarnation incarnation{};
  Seed seed{};
  // The thread that runs the functions of work(). Null: the loop's thread, one function per turn,
  // so that messages and timers are handled between the slices of long work. Work that is shorter
  // than the round trip to another thread runs on the loop in any case, and so does work on an
  // exchange (env.h) while the compute thread is busy.
  ComputeThread* compute = nullptr;
  ComputeThread* io = nullptr;   // the thread for Work::Io; null: the same as for other work
  Recorder* recorder = nullptr;  // may be null; used by the loop's thread only
};

// One per node; the nodes of a loop share the loop, and may share the compute thread. Thread
// safety: none; it belongs to the loop's thread. A function given to work() may run on another
// thread while its coroutine waits, so it must only touch its arguments.
class LiveEnv final : public Env {
 public:
  LiveEnv(LiveLoop& loop, const LiveEnvOptions& options);
  ~LiveEnv() override;

  Time now() const override { return loop_->now(); }
  bool post(const std::function<void()>& f) override;
  bool posts() const override { return options_.compute != nullptr; }
  void together(std::span<Lane* const> lanes, std::uint64_t turn) override;
  void record(Event event) override;

 private:
  void start_sleep(SleepOp& op) override;
  void abort_sleep(SleepOp& op) override;
  void start_work(WorkOp& op) override;
  // False while the function runs or its completion is on the way: neither can be undone.
  bool abort_work(WorkOp& op) override;

  // Work that must run in order. All pending work of a line is either here or on another thread.
  // Work on an exchange stays here as soon as a gradient is running, which may wait for it; it
  // first waits for the pieces sent away before.
  struct Line {
    std::deque<WorkOp*> here;  // waits for the loop's thread
    std::uint64_t there = 0;   // pieces on another thread whose end was not yet seen
  };
  // Shared with callbacks that may run after the Env was destroyed, and find it empty then.
  struct Lines {
    Line model, exchange, io;
    bool scheduled = false;
    std::uint64_t turn = 0;  // of the loop
    int tiny = 0;            // pieces of work done at once in this turn
  };
  Line& line_of(const WorkOp& op) const;
  ComputeThread* thread_of(const WorkOp& op) const;
  bool stays_here(const WorkOp& op) const;
  bool another_this_turn();
  void hurry(Line& line);
  void schedule();
  void run_next(Line& line);

  LiveLoop* loop_;
  LiveEnvOptions options_;
  std::shared_ptr<Lines> lines_;
};

}  // namespace shoal
