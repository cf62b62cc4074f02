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
  // messages and timers get their turns between the slices of a long piece of work. What takes less
  // time than the way to another thread and back runs on the loop's in any case, when nothing else
  // of the node is being computed.
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
  void together(std::span<Lane* const> lanes, std::uint64_t turn) override;
  void record(Event event) override;

 private:
  void start_sleep(SleepOp& op) override;
  void abort_sleep(SleepOp& op) override;
  void start_work(WorkOp& op) override;
  // False while the function runs or its end is on the way: neither can be taken back.
  bool abort_work(WorkOp& op) override;

  // Work that waits for the loop's thread. Shared with the deferred call, which may come after the
  // Env has gone, and finds it empty then.
  struct Inline {
    std::deque<WorkOp*> queue;
    bool scheduled = false;
    std::uint64_t submitted = 0;  // to the compute thread, and not yet seen to have ended
  };
  bool is_small(const WorkOp& op) const;
  ComputeThread* thread_of(const WorkOp& op) const;
  void schedule_inline();
  void run_inline();

  LiveLoop* loop_;
  LiveEnvOptions options_;
  std::shared_ptr<Inline> inline_;
};

}  // namespace shoal
