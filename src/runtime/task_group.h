// Concurrency: TaskGroup, and with_group, race and timeout, which are made of it.
//
// No task is detached: the starter of a group waits for its end. A task that fails cancels its
// siblings; the first error is thrown to the waiter when all have ended.
//
//   co_await with_group([&](TaskGroup& group) -> Task<> {
//     group.spawn(learner.gradient(batch, ready));
//     while (auto bucket = co_await ready.next()) group.spawn(reduce(*bucket));
//   });
#pragma once

#include <exception>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>

#include "runtime/env.h"
#include "runtime/operation.h"
#include "runtime/task.h"

namespace shoal {

// Thread safety: none; a group belongs to the thread of its executor. Invariant: a group is
// destroyed only when none of its tasks runs.
class TaskGroup {
 public:
  // `parent` may have no scope: then nothing above cancels the group.
  explicit TaskGroup(const Context& parent);
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  void spawn(Task<void> task);
  void cancel() { scope_.cancel(); }
  std::size_t running() const { return running_; }

  // Waits until no task runs; throws the first error, or Cancelled if the parent was cancelled.
  class [[nodiscard]] Join final : public Operation {
   public:
    using Result = void;
    explicit Join(TaskGroup& group) : group_(&group) {}
    Join(Join&&) = default;
    ~Join() override { detach(); }
    void await_resume() {
      group_->reap();
      if (group_->error_) std::rethrow_exception(std::exchange(group_->error_, nullptr));
      rethrow();
    }

   private:
    friend class TaskGroup;
    void start() override;
    // The tasks are being cancelled too; wait for them.
    bool abort() override { return false; }
    bool starts_when_cancelled() const override { return true; }
    TaskGroup* group_;
  };
  Join join() { return Join(*this); }

 private:
  friend class detail::PromiseBase;
  void child_finished(detail::PromiseBase& promise);
  void reap();

  Context context_;  // of the tasks: the parent's executor, a scope of its own
  CancelScope scope_;
  std::size_t running_ = 0;
  List<detail::PromiseBase, InGroup> finished_;
  std::exception_ptr error_;
  Join* join_ = nullptr;
};

// Runs `body(group)` and everything that it spawns; completes when all of it has ended.
template <class Body>
Task<void> with_group(Body body) {
  const Context context = co_await current();
  TaskGroup group(context);
  group.spawn(body(group));
  co_await group.join();
}

namespace detail {

template <std::size_t I, class Winner, class T>
Task<void> race_entry(Task<T> task, std::optional<Winner>& winner, TaskGroup& group) {
  if constexpr (std::is_void_v<T>) {
    co_await std::move(task);
    if (!winner) winner.emplace(std::in_place_index<I>);
  } else {
    T value = co_await std::move(task);
    if (!winner) winner.emplace(std::in_place_index<I>, std::move(value));
  }
  group.cancel();
}

template <class... Ts, std::size_t... Is>
Task<std::variant<Result<Ts>...>> race_tasks(std::index_sequence<Is...>, Task<Ts>... tasks) {
  using Winner = std::variant<Result<Ts>...>;
  std::optional<Winner> winner;
  const Context context = co_await current();
  TaskGroup group(context);
  (group.spawn(race_entry<Is, Winner, Ts>(std::move(tasks), winner, group)), ...);
  co_await group.join();
  co_return std::move(*winner);
}

}  // namespace detail

// The first to end wins; the others are cancelled, and have ended when race returns. void counts as
// std::monostate. A value that a loser received in the same instant is lost.
template <class... Awaitables>
auto race(Awaitables... awaitables) {
  return detail::race_tasks(std::index_sequence_for<Awaitables...>(),
                            as_task(std::move(awaitables))...);
}

// nullopt (or false, for void) if `limit` passes first.
template <class Awaitable>
auto timeout(Env& env, Duration limit, Awaitable awaitable)
    -> Task<std::conditional_t<std::is_void_v<typename Awaitable::Result>, bool,
                               std::optional<detail::Result<typename Awaitable::Result>>>> {
  auto winner = co_await race(std::move(awaitable), env.sleep(limit));
  if constexpr (std::is_void_v<typename Awaitable::Result>) {
    co_return winner.index() == 0;
  } else {
    if (winner.index() == 1) co_return std::nullopt;
    co_return std::get<0>(std::move(winner));
  }
}

}  // namespace shoal
