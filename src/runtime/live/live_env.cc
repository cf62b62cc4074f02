#include "runtime/live/live_env.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"

namespace shoal {
namespace {

// "Forever" still has to be a point in time: later than any job ends, and far from overflow.
constexpr Duration kLongest = std::chrono::hours(24 * 365 * 100);
// Fewer elements take less time than the round trip to another thread.
constexpr Elements kSmall{1 << 14};
// Fewer elements take less than a turn of the loop, so a few such pieces run in one turn.
constexpr Elements kTiny{1 << 12};
constexpr int kTinyPerTurn = 4;

bool long_by_nature(const WorkOp& op) {
  return op.kind() == Work::Forward || op.kind() == Work::Backward || op.kind() == Work::Io;
}

std::exception_ptr run(WorkOp& op) {
  try {
    op.run();
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

void finish(WorkOp& op, std::exception_ptr error) {
  if (error) {
    op.failed_with(std::move(error));
  } else {
    op.done();
  }
}

}  // namespace

LiveEnv::LiveEnv(LiveLoop& loop, const LiveEnvOptions& options)
    : Env(options.seed), loop_(&loop), options_(options), lines_(std::make_shared<Lines>()) {}

LiveEnv::~LiveEnv() {
  for (const Line* line : {&lines_->model, &lines_->exchange, &lines_->io})
    SHOAL_CHECK(line->here.empty(), "an Env ended before its work");
}

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
  if (options_.compute == nullptr) return false;  // the loop is running that very function
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

LiveEnv::Line& LiveEnv::line_of(const WorkOp& op) const {
  if (op.aside()) return lines_->exchange;
  return op.kind() == Work::Io ? lines_->io : lines_->model;
}

// The work of a line stays in one place: work submitted after work on another thread must go there
// too, or it could run first.
bool LiveEnv::stays_here(const WorkOp& op) const {
  if (thread_of(op) == nullptr) return true;
  const Line& line = line_of(op);
  const bool waits_here = lines_->model.there > 0 || !line.here.empty();
  if (&line == &lines_->exchange && waits_here) return true;
  if (line.there > 0 || long_by_nature(op)) return false;
  return !line.here.empty() || op.n() <= kSmall;
}

// Limits the pieces per turn, so that timers and messages do not wait too long.
bool LiveEnv::another_this_turn() {
  if (std::exchange(lines_->turn, loop_->turns()) != loop_->turns()) lines_->tiny = 0;
  return lines_->tiny++ < kTinyPerTurn;
}

void LiveEnv::start_work(WorkOp& op) {
  Line& line = line_of(op);
  if (stays_here(op)) {
    const bool next = line.here.empty() && line.there == 0;
    const bool tiny = op.n() <= kTiny && !long_by_nature(op);
    if (next && tiny && another_this_turn()) return finish(op, run(op));
    line.here.push_back(&op);
    return schedule();
  }
  hurry(line);
  ++line.there;
  const ComputeThread::Ticket ticket = thread_of(op)->submit(
      *loop_, [&op] { op.run(); },
      [this, &op, &line, lines = lines_](std::exception_ptr error) {
        --line.there;
        finish(op, std::move(error));
        if (line.there == 0 && !line.here.empty()) schedule();
      },
      op.kind() == Work::Backward ? Steady::Yes : Steady::No);
  op.timer = reinterpret_cast<void*>(ticket);
}

bool LiveEnv::abort_work(WorkOp& op) {
  Line& line = line_of(op);
  if (op.timer == nullptr) return std::erase(line.here, &op) > 0;
  if (!thread_of(op)->revoke(reinterpret_cast<ComputeThread::Ticket>(op.timer))) return false;
  --line.there;
  if (line.there == 0 && !line.here.empty()) schedule();
  return true;
}

// A piece goes to another thread, and earlier ones still wait here: run them first.
void LiveEnv::hurry(Line& line) {
  for (WorkOp* op : std::exchange(line.here, {}))
    loop_->defer([op, e = run(*op)]() mutable { finish(*op, std::exchange(e, nullptr)); });
}

// Runs one piece of each line per turn.
void LiveEnv::schedule() {
  if (std::exchange(lines_->scheduled, true)) return;
  loop_->defer([this, lines = lines_] {
    lines->scheduled = false;
    for (Line* line : {&lines->model, &lines->exchange, &lines->io})
      if (!line->here.empty() && line->there == 0) run_next(*line);
  });
}

void LiveEnv::run_next(Line& line) {
  WorkOp& op = *line.here.front();
  line.here.pop_front();
  std::exception_ptr error = run(op);
  const bool more = !line.here.empty();
  finish(op, std::move(error));
  if (more) schedule();
}

}  // namespace shoal
