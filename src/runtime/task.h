// Task<T>: a lazy, single-owner coroutine. It starts when awaited (or spawned in a TaskGroup), runs
// on the executor of its awaiter, and is cancelled with it.
//
//   Task<float> loss(Node& node) { ... co_return sum; }
//   const float l = co_await loss(node);
//
// g++ 12 miscompiles some forms of co_await; docs/coroutines.md lists them and the test suite
// refuses them. Pass parameters by value; pass references only to objects that outlive the task.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/list.h"
#include "runtime/executor.h"
#include "runtime/frames.h"
#include "runtime/operation.h"

namespace shoal {

class TaskGroup;
struct InGroup;

namespace detail {

class PromiseBase : public ListHook<InGroup> {
 public:
  Context context;
  std::coroutine_handle<> continuation;  // the awaiter of this task, or
  TaskGroup* group = nullptr;            // the group in which it was spawned
  std::coroutine_handle<> self;
  std::exception_ptr error;

  static void* operator new(std::size_t size) { return take_frame(size); }
  static void operator delete(void* frame, std::size_t size) { give_back_frame(frame, size); }

  std::suspend_always initial_suspend() const noexcept { return {}; }
  void unhandled_exception() noexcept { error = std::current_exception(); }

  struct FinalAwaiter {
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> handle) const noexcept {
      handle.promise().finished();
    }
    void await_resume() const noexcept {}
  };
  FinalAwaiter final_suspend() const noexcept { return {}; }

 private:
  void finished() noexcept;
};

template <class T>
class Promise : public PromiseBase {
 public:
  std::coroutine_handle<Promise> get_return_object() {
    const auto handle = std::coroutine_handle<Promise>::from_promise(*this);
    self = handle;
    return handle;
  }
  template <class U>
  void return_value(U&& value) {
    value_.emplace(std::forward<U>(value));
  }
  T take() {
    if (error) std::rethrow_exception(error);
    return std::move(*value_);
  }

 private:
  std::optional<T> value_;
};

template <>
class Promise<void> : public PromiseBase {
 public:
  std::coroutine_handle<Promise> get_return_object() {
    const auto handle = std::coroutine_handle<Promise>::from_promise(*this);
    self = handle;
    return handle;
  }
  void return_void() const noexcept {}
  void take() const {
    if (error) std::rethrow_exception(error);
  }
};

}  // namespace detail

template <class T = void>
class [[nodiscard]] Task {
 public:
  using promise_type = detail::Promise<T>;
  using Handle = std::coroutine_handle<promise_type>;
  using Result = T;

  Task(Handle handle) : handle_(handle) {}  // NOLINT(google-explicit-constructor): the promise's
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    if (this != &other) {
      if (handle_) handle_.destroy();
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  class Awaiter {
   public:
    explicit Awaiter(Handle handle) : handle_(handle) {}
    bool await_ready() const noexcept { return false; }
    template <class Parent>
    void await_suspend(std::coroutine_handle<Parent> parent) const {
      promise_type& promise = handle_.promise();
      SHOAL_CHECK(!promise.continuation && promise.group == nullptr, "a task was awaited twice");
      promise.context = parent.promise().context;
      promise.continuation = parent;
      promise.context.executor->post(handle_);
    }
    T await_resume() const { return handle_.promise().take(); }

   private:
    Handle handle_;
  };
  Awaiter operator co_await() && { return Awaiter(handle_); }

  // For TaskGroup: the caller becomes the owner of the frame.
  Handle release() { return std::exchange(handle_, nullptr); }

 private:
  Handle handle_;
};

// co_await current(): the executor and the cancel scope of the running coroutine.
struct current {
  Context context;
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> handle) {
    context = handle.promise().context;
    return false;
  }
  Context await_resume() const { return context; }
};

// Converts an operation to a task, for race and spawn.
template <class Op>
requires std::is_base_of_v<Operation, Op> Task<typename Op::Result> as_task(Op op) {
  co_return co_await std::move(op);
}
template <class T>
Task<T> as_task(Task<T> task) {
  return task;
}

}  // namespace shoal
