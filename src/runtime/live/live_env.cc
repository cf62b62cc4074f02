#include "runtime/live/live_env.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"

namespace shoal {
namespace {

// "For ever" still has to be a point in time: later than any job ends, and far from overflow.
constexpr Duration kLongest = std::chrono::hours(24 * 365 * 100);
// Fewer elements take less time than the way to another thread and back.
constexpr Elements kSmall{1 << 14};

void finish(WorkOp& op, std::exception_ptr error) {
  if (error) {
    op.failed_with(std::move(error));
  } else {
    op.done();
  }
}

}  // namespace

LiveEnv::LiveEnv(LiveLoop& loop, const LiveEnvOptions& options)
    : Env(options.seed), loop_(&loop), options_(options), inline_(std::make_shared<Inline>()) {}

LiveEnv::~LiveEnv() { SHOAL_CHECK(inline_->queue.empty(), "an Env ended before its work"); }

void LiveEnv::record(Event event) {
  if (options_.recorder == nullptr) return;
  event.at = loop_->turn_time();
  event.node = options_.node;
  event.incarnation = options_.incarnation;
  options_.recorder->record(event);
}

void LiveEnv::start_sleep(SleepOp& op) {
  const Time time = now() + std::clamp(op.duration(), Duration::zero(), kLongest);
  // The timer's handle is a pointer to its constant key; SleepOp stores it without its type.
  op.timer = const_cast<LiveLoop::TimerKey*>(loop_->at(time, [&op] {
    op.timer = nullptr;
    op.fire();
  }));
}

void LiveEnv::abort_sleep(SleepOp& op) {
  if (op.timer == nullptr) return;
  loop_->cancel(static_cast<LiveLoop::Timer>(std::exchange(op.timer, nullptr)));
}

ComputeThread* LiveEnv::thread_of(const WorkOp& op) const {
  return op.kind() == Work::Io && options_.io != nullptr ? options_.io : options_.compute;
}

bool LiveEnv::post(const std::function<void()>& f) {
  if (options_.compute == nullptr) return false;  // The loop is in that very function.
  loop_->inject(f);
  return true;
}

void LiveEnv::together(std::span<Lane* const> lanes, std::uint64_t turn) {
  (void)turn;
  std::vector<std::exception_ptr> errors(lanes.size());
  const auto run = [&](std::size_t k) {
    try {
      lanes[k]->run();
    } catch (...) {
      errors[k] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t k = 1; k < lanes.size(); ++k) others.emplace_back(run, k);
    if (!lanes.empty()) run(0);
  }
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

void LiveEnv::start_work(WorkOp& op) {
  ComputeThread* const thread = thread_of(op);
  if (thread == nullptr || is_small(op)) {
    inline_->queue.push_back(&op);
    return schedule_inline();
  }
  ++inline_->submitted;
  const ComputeThread::Ticket ticket = thread->submit(
      *loop_, [&op] { op.run(); },
      [&op, work = inline_](std::exception_ptr error) {
        --work->submitted;
        finish(op, std::move(error));
      });
  op.timer = reinterpret_cast<void*>(ticket);
}

bool LiveEnv::is_small(const WorkOp& op) const {
  const bool long_by_nature =
      op.kind() == Work::Forward || op.kind() == Work::Backward || op.kind() == Work::Io;
  return !long_by_nature && op.n() <= kSmall && inline_->submitted == 0;
}

bool LiveEnv::abort_work(WorkOp& op) {
  if (op.timer == nullptr) return std::erase(inline_->queue, &op) > 0;
  if (!thread_of(op)->revoke(reinterpret_cast<ComputeThread::Ticket>(op.timer))) return false;
  --inline_->submitted;
  return true;
}

void LiveEnv::schedule_inline() {
  if (std::exchange(inline_->scheduled, true)) return;
  loop_->defer([this, work = inline_] {
    work->scheduled = false;
    if (!work->queue.empty()) run_inline();
  });
}

void LiveEnv::run_inline() {
  WorkOp& op = *inline_->queue.front();
  inline_->queue.pop_front();
  std::exception_ptr error;
  try {
    op.run();
  } catch (...) {
    error = std::current_exception();
  }
  finish(op, std::move(error));
  if (!inline_->queue.empty()) schedule_inline();
}

}  // namespace shoal
