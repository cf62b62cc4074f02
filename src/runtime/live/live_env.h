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
  // Who runs the functions of work(). Null: the loop's thread, one function a turn, so that
  // messages and timers get their turns between the slices of a long piece of work. On the loop's
  // in any case: what takes less time than the way to another thread and back, and what is done to
  // an exchange (env.h) while the compute thread is taken.
  ComputeThread* compute = nullptr;
  ComputeThread* io = nullptr;   // Who runs those of Work::Io. Null: whoever runs the others.
  Recorder* recorder = nullptr;  // may be null; used by the loop's thread only
};

// One per node; the nodes of a loop share the loop, and may share the compute thread.
// Thread safety: none; it belongs to the loop's thread. A function given to work() may run on
// another thread while its coroutine waits, and touches nothing but what it was given.
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
  // False while the function runs or its end is on the way: neither can be taken back.
  bool abort_work(WorkOp& op) override;

  // Work of which one follows the other. All of it that is under way is either here or there; but
  // what is done to an exchange stays here as soon as a gradient is there, which may wait for it:
  // then it waits for what went there before.
  struct Line {
    std::deque<WorkOp*> here;  // waits for the loop's thread
    std::uint64_t there = 0;   // given to another thread, and not yet seen to have ended
  };
  // Shared with calls that may come after the Env has gone, and find it empty then.
  struct Lines {
    Line model, exchange, io;
    bool scheduled = false;
    std::uint64_t turn = 0;  // of the loop,
    int tiny = 0;            // and how many pieces of work were done in it at once
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
