// Shared by the tests of the runtime: tasks that are watched to their end, and an operation that
// the test completes, fails or refuses.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "runtime/executor.h"
#include "runtime/operation.h"
#include "runtime/task.h"
#include "runtime/task_group.h"

namespace shoal {

// The message of an error, "" for none.
inline std::string what(const std::exception_ptr& error) {
  if (!error) return "";
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  }
}

// Each watched task has a group, and so a cancel scope, of its own.
class Watched {
 public:
  Watched(Executor& executor, Task<> task) : group_(context_of(executor)) {
    group_.spawn(watch(std::move(task)));
  }
  bool done() const { return done_; }
  bool ok() const { return done_ && !error_; }
  std::string error() const { return what(error_); }
  void cancel() { group_.cancel(); }

 private:
  static Context context_of(Executor& executor) {
    Context context;
    context.executor = &executor;
    return context;
  }
  Task<> watch(Task<> task) {
    try {
      co_await std::move(task);
    } catch (...) {
      error_ = std::current_exception();
    }
    done_ = true;
  }

  bool done_ = false;
  std::exception_ptr error_;
  TaskGroup group_;
};

class RuntimeTest : public ::testing::Test {
 protected:
  // Starts a task and runs until nothing is ready.
  Watched& start(Task<> task) {
    Watched& watched = watched_.emplace_back(executor, std::move(task));
    executor.run_ready();
    return watched;
  }
  void run() { executor.run_ready(); }
  // Cancels the tasks that a test left behind, so that a failed expectation does not lead to a
  // crash as well.
  void TearDown() override {
    for (Watched& w : watched_) {
      if (w.done()) continue;
      ADD_FAILURE() << "a task was still waiting at the end of the test";
      w.cancel();
      executor.run_ready();
    }
  }

  Executor executor;

 private:
  std::deque<Watched> watched_;
};

// co_await trigger.wait() ends when the test says so.
class Trigger {
 public:
  class [[nodiscard]] Wait final : public Operation {
   public:
    using Result = int;
    explicit Wait(Trigger& trigger) : trigger_(&trigger) {}
    Wait(Wait&&) = default;
    ~Wait() override { detach(); }
    int await_resume() {
      rethrow();
      return value_;
    }

   private:
    friend class Trigger;
    void start() override {
      ++trigger_->starts;
      trigger_->waiting_ = this;
      if (trigger_->at_once) trigger_->complete(*trigger_->at_once);
      if (trigger_->fails_at_once) trigger_->fail("failed at once");
    }
    bool abort() override {
      ++trigger_->aborts;
      if (trigger_->on_abort) trigger_->on_abort();
      if (trigger_->refuses) return false;
      trigger_->waiting_ = nullptr;
      return true;
    }
    Trigger* trigger_;
    int value_ = 0;
  };

  Wait wait() { return Wait(*this); }
  bool waiting() const { return waiting_ != nullptr; }
  void complete(int value) {
    Wait& op = *std::exchange(waiting_, nullptr);
    op.value_ = value;
    op.complete();
  }
  void fail(const std::string& message) {
    std::exchange(waiting_, nullptr)->fail(std::make_exception_ptr(Error(message)));
  }

  void request_cancel() { waiting_->request_cancel(); }  // of this operation, not of its scope

  std::optional<int> at_once;
  bool fails_at_once = false;
  bool refuses = false;  // refuses to be aborted
  std::function<void()> on_abort;
  int starts = 0;
  int aborts = 0;

 private:
  Wait* waiting_ = nullptr;
};

}  // namespace shoal
