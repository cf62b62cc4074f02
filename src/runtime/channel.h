// Values and signals between the tasks of one executor.
#pragma once

#include <deque>
#include <optional>
#include <utility>

#include "base/list.h"
#include "runtime/operation.h"

namespace shoal {

// An unbounded queue with one or more consumers, which get values in the order in which they wait.
//   while (auto value = co_await channel.next()) ...      // ends when closed and drained
template <class T>
class Channel {
 public:
  class [[nodiscard]] Next final : public Operation, public ListHook<struct InChannel> {
   public:
    using Result = std::optional<T>;
    explicit Next(Channel& channel) : channel_(&channel) {}
    Next(Next&&) noexcept = default;
    ~Next() override { detach(); }
    std::optional<T> await_resume() {
      rethrow();
      return std::move(value_);
    }

   private:
    friend class Channel;
    void start() override {
      if (!channel_->values_.empty()) {
        value_.emplace(std::move(channel_->values_.front()));
        channel_->values_.pop_front();
        complete();
      } else if (channel_->closed_) {
        complete();
      } else {
        channel_->waiting_.push_back(*this);
      }
    }
    bool abort() override {
      ListHook<struct InChannel>::unlink();
      return true;
    }
    void give(T value) {
      value_.emplace(std::move(value));
      complete();
    }
    Channel* channel_;
    std::optional<T> value_;
  };

  Next next() { return Next(*this); }
  void push(T value) {
    SHOAL_CHECK(!closed_, "push into a closed channel");
    if (waiting_.empty()) {
      values_.push_back(std::move(value));
    } else {
      waiting_.pop_front().give(std::move(value));
    }
  }
  void close() {
    closed_ = true;
    while (!waiting_.empty()) waiting_.pop_front().complete();
  }

 private:
  std::deque<T> values_;
  List<Next, struct InChannel> waiting_;
  bool closed_ = false;
};

// Wakes all waiters. The waiter owns the condition and checks it in a loop:
//   while (!ready()) co_await signal.wait();
class Signal {
 public:
  class [[nodiscard]] Wait final : public Operation, public ListHook<struct InSignal> {
   public:
    using Result = void;
    explicit Wait(Signal& signal) : signal_(&signal) {}
    Wait(Wait&&) noexcept = default;
    ~Wait() override { detach(); }
    void await_resume() { rethrow(); }

   private:
    friend class Signal;
    void start() override { signal_->waiting_.push_back(*this); }
    bool abort() override {
      ListHook<struct InSignal>::unlink();
      return true;
    }
    Signal* signal_;
  };

  Wait wait() { return Wait(*this); }
  void notify_all() {
    while (!waiting_.empty()) waiting_.pop_front().complete();
  }

 private:
  List<Wait, struct InSignal> waiting_;
};

}  // namespace shoal
