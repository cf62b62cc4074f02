// Operation: a leaf of waiting (a message, a timer, a value); and CancelScope, which ends waiting
// early.
//
// An operation lives in the frame of the awaiting coroutine, so nothing is allocated or freed.
// Cancelling throws Cancelled out of the co_await; frames are never destroyed from outside while
// they wait.
#pragma once

#include <array>
#include <coroutine>
#include <exception>
#include <tuple>
#include <utility>
#include <variant>

#include "base/list.h"
#include "runtime/executor.h"

namespace shoal {

class Operation;

// All operations that wait below one TaskGroup. Scopes form a tree; cancelling one cancels all
// below.
class CancelScope : public ListHook<struct InParentScope> {
 public:
  explicit CancelScope(CancelScope* parent);
  ~CancelScope();
  CancelScope(const CancelScope&) = delete;
  CancelScope& operator=(const CancelScope&) = delete;

  void cancel();
  bool cancelled() const { return cancelled_; }

 private:
  friend class Operation;
  bool cancelled_ = false;
  List<Operation, struct InScope> operations_;
  List<CancelScope, struct InParentScope> children_;
};

// Inherited by a coroutine from its awaiter or spawner.
struct Context {
  Executor* executor = nullptr;
  CancelScope* scope = nullptr;
};

namespace detail {

// The coroutine that waits, for one operation or for several at once (All).
struct Waiter {
  Executor* executor = nullptr;
  std::coroutine_handle<> handle;
  unsigned pending = 0;
  bool starting = false;
  Operation* const* siblings = nullptr;  // of All; if one fails, the others are aborted
  unsigned sibling_count = 0;
};

}  // namespace detail

// Derived classes implement start() and abort(), end with complete() or fail(), define `using
// Result` and `Result await_resume()` (which calls rethrow() first), and call detach() in their
// destructor. An operation may be moved until it is awaited.
class Operation : public ListHook<struct InScope> {
 public:
  Operation() = default;
  Operation(Operation&&) noexcept {}
  Operation& operator=(Operation&&) = delete;
  virtual ~Operation() = default;

  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> handle) {
    own_.executor = handle.promise().context.executor;
    own_.handle = handle;
    own_.starting = true;
    begin(handle.promise().context, own_);
    own_.starting = false;
    return own_.pending > 0;
  }

  bool pending() const { return waiter_ != nullptr; }
  bool failed() const { return error_ != nullptr; }
  std::exception_ptr error() const { return error_; }
  // Ends the wait with Cancelled: at once, or, if abort() refuses, when the operation ends.
  void request_cancel();
  // Starts the operation for `waiter`; REQUIRES: not started before.
  void begin(const Context& context, detail::Waiter& waiter);

 protected:
  // Begins to wait; may call complete() or fail() at once.
  virtual void start() = 0;
  // True: it starts even in a cancelled scope, and throws when it ends.
  virtual bool starts_when_cancelled() const { return false; }
  // Deregisters from the object that would complete it. Returns false if that is impossible now (a
  // function running on the compute thread): the operation then completes and throws Cancelled.
  virtual bool abort() = 0;

  void complete() { finish(); }
  void fail(std::exception_ptr error) {
    error_ = std::move(error);
    finish();
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }
  void detach() {
    if (!pending()) return;
    abort();
    unlink();
    waiter_ = nullptr;
  }
  // Whether all earlier siblings of an All have ended. REQUIRES: pending.
  bool last() const { return waiter_->pending == 1; }
  // The context in which the operation was started. REQUIRES: started.
  const Context& context() const { return context_; }

 private:
  friend class CancelScope;
  void finish();

  Context context_;
  detail::Waiter* waiter_ = nullptr;
  detail::Waiter own_;
  std::exception_ptr error_;
  bool cancel_requested_ = false;
};

namespace detail {
template <class T>
struct ResultOf {
  using type = T;
};
template <>
struct ResultOf<void> {
  using type = std::monostate;
};
template <class T>
using Result = typename ResultOf<T>::type;  // T, or std::monostate for void
}  // namespace detail

// Waits for several operations at once: co_await all(endpoint.send(..), endpoint.recv(..)).
// Completes when all have; when one fails the others are cancelled and its error is thrown.
template <class... Ops>
class All {
 public:
  explicit All(Ops&&... ops) : ops_(std::move(ops)...) {}

  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> handle) {
    siblings_ = std::apply(
        [](auto&... op) { return std::array<Operation*, sizeof...(Ops)>{&op...}; }, ops_);
    waiter_.executor = handle.promise().context.executor;
    waiter_.handle = handle;
    waiter_.siblings = siblings_.data();
    waiter_.starting = true;
    for (Operation* op : siblings_) {
      op->begin(handle.promise().context, waiter_);
      ++waiter_.sibling_count;
      if (op->failed()) break;
    }
    waiter_.starting = false;
    return waiter_.pending > 0;
  }
  std::tuple<detail::Result<typename Ops::Result>...> await_resume() {
    // The error that aborted the others, not their Cancelled.
    if (const std::exception_ptr error = first_error()) std::rethrow_exception(error);
    return std::apply([](auto&... op) { return std::tuple(result_of(op)...); }, ops_);
  }

 private:
  std::exception_ptr first_error() const;
  template <class Op>
  static detail::Result<typename Op::Result> result_of(Op& op) {
    if constexpr (std::is_void_v<typename Op::Result>) {
      op.await_resume();
      return {};
    } else {
      return op.await_resume();
    }
  }

  std::tuple<Ops...> ops_;
  std::array<Operation*, sizeof...(Ops)> siblings_{};
  detail::Waiter waiter_;
};

namespace detail {
// The first error of `operations` that is not Cancelled, else Cancelled, else null.
std::exception_ptr first_error(Operation* const* operations, unsigned count);
}  // namespace detail

template <class... Ops>
std::exception_ptr All<Ops...>::first_error() const {
  return detail::first_error(siblings_.data(), sizeof...(Ops));
}

template <class... Ops>
requires(std::is_base_of_v<Operation, Ops>&&...) [[nodiscard]] All<Ops...> all(Ops... ops) {
  return All<Ops...>(std::move(ops)...);
}

}  // namespace shoal
