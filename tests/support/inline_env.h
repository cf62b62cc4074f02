// The smallest Env that a task can run in, for tests that need no network and no simulator.
//
//   InlineEnv env;
//   EXPECT_EQ(run(twice(env, 21)), 42);
#pragma once

#include <exception>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "runtime/env.h"
#include "runtime/executor.h"
#include "runtime/task.h"
#include "runtime/task_group.h"

namespace shoal {

// Work runs at once and takes no time. A sleep moves the clock and ends at once; if `manual`, it
// waits until advance() has moved the clock that far.
class InlineEnv final : public Env {
 public:
  explicit InlineEnv(Seed seed = Seed(1)) : Env(seed) {}

  Time now() const override { return now_; }
  void record(Event event) override {
    event.at = now_;
    events.push_back(event);
  }

  // Fires the timers that are due. REQUIRES: the caller then runs the executor. A task that sleeps
  // again is due only in the next call.
  void advance(Duration duration) {
    now_ += duration;
    while (!sleeping_.empty() && sleeping_.begin()->first <= now_) {
      SleepOp& op = *sleeping_.begin()->second;
      sleeping_.erase(sleeping_.begin());
      op.fire();
    }
  }

  bool manual = false;
  std::vector<Event> events;

 private:
  void start_sleep(SleepOp& op) override {
    if (manual) {
      sleeping_.emplace(now_ + op.duration(), &op);
    } else {
      now_ += op.duration();
      op.fire();
    }
  }
  void abort_sleep(SleepOp& op) override {
    std::erase_if(sleeping_, [&](const auto& entry) { return entry.second == &op; });
  }
  void start_work(WorkOp& op) override {
    try {
      op.run();
    } catch (...) {
      return op.failed_with(std::current_exception());
    }
    op.done();
  }
  bool abort_work(WorkOp&) override { return true; }

  Time now_{};
  std::multimap<Time, SleepOp*> sleeping_;  // equal times in order of arrival
};

// The result of a task.
template <class T>
struct Ended {
  std::optional<detail::Result<T>> value;
  std::exception_ptr error;
};

template <class T>
Task<void> run_into(Task<T> task, Ended<T>& ended) {
  try {
    if constexpr (std::is_void_v<T>) {
      co_await std::move(task);
      ended.value.emplace();
    } else {
      ended.value.emplace(co_await std::move(task));
    }
  } catch (...) {
    ended.error = std::current_exception();
  }
}

// Runs a task to its end; throws what it throws, or std::logic_error if it waits forever.
template <class T>
T run(Task<T> task) {
  Executor executor;
  Context context;
  context.executor = &executor;
  TaskGroup group(context);
  Ended<T> ended;
  group.spawn(run_into(std::move(task), ended));
  executor.run_ready();
  if (group.running() > 0) {
    group.cancel();
    executor.run_ready();
    throw std::logic_error("the task waits for something that no one will do");
  }
  if (ended.error) std::rethrow_exception(ended.error);
  if constexpr (!std::is_void_v<T>) return std::move(*ended.value);
}

}  // namespace shoal
