// LiveLoop: the event loop of the live world. One thread runs the coroutines of one or several
// nodes, their timers and descriptors, and sleeps on a descriptor when nothing is ready.
//
//   LiveLoop loop;
//   run_task(loop, program(node));          // on this thread, until the program has ended
//   loop.inject([&] { ... });               // from any other thread
#pragma once

#include <atomic>
#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/types.h"
#include "runtime/executor.h"
#include "runtime/operation.h"
#include "runtime/task.h"

namespace shoal {

// A network library that must be polled, and that can wait on a descriptor.
class Poller {
 public:
  virtual ~Poller() = default;
  // The loop ends: nothing that was begun may wait for the next poll().
  virtual void flush() {}
  virtual bool poll() = 0;  // true if anything happened
  virtual bool arm() = 0;   // false if an event came in meanwhile: poll again before sleeping
  // The estimated remaining time of current transfers; zero if there are none. The next piece of a
  // transfer is worth a longer spin.
  virtual Duration ahead() const { return Duration::zero(); }
};

// An object whose operations may stall: an endpoint. Asked only when its loop goes to sleep.
class StallSource {
 public:
  virtual ~StallSource() = default;
  virtual bool pending() const = 0;                // an operation waits
  virtual std::uint64_t progress() const = 0;      // changes when an operation begins or ends
  virtual std::vector<std::string> waiting() = 0;  // one line per operation: who waits, for whom,
                                                   // for what
};

// The events for which a descriptor is watched, and those found. An error or a hang-up counts as
// both: the next call reports it.
struct Readiness {
  bool readable = false;
  bool writable = false;
  bool operator==(const Readiness&) const = default;
};

struct LoopOptions {
  // The zero of Time. The loops of one job share it.
  std::chrono::steady_clock::time_point origin = std::chrono::steady_clock::now();
  // How long the loop polls, instead of sleeping, after a function was injected: usually finished
  // work, whose core would idle otherwise. Only while no work is on other threads.
  Duration awake{};
  // A source that waits this long without progress is reported.
  Duration stall_after = std::chrono::seconds(5);
};

// Thread safety: inject() and stop() may be called from any thread, everything else only by the
// thread in run(), or by the owner while no thread is in it. Invariants:
// 1. Injected functions run in the order of their injection, each exactly once (those left when
//    run() returns run in the next run(), or are destroyed with the loop).
// 2. The loop never sleeps while an injected or deferred function, a ready coroutine or a due timer
//    exists: asleep_ is set under the mutex, after the queue was seen empty under it.
// 3. While the loop is awake, inject() makes no system call.
// Large class: whether the loop may sleep depends on all of its queues at once (invariant 2).
class LiveLoop {
 public:
  using Function = std::function<void()>;
  using ReadyFunction = std::function<void(Readiness)>;
  struct TimerKey {
    Time at;
    std::uint64_t sequence = 0;  // timers of one instant fire in the order in which they were set
    auto operator<=>(const TimerKey&) const = default;
  };
  using Timer = const TimerKey*;  // valid until it fires or is cancelled
  // Gets a line for each waiting operation. Called once per stall; the default prints.
  using StallHook = std::function<void(const std::vector<std::string>& waiting)>;

  explicit LiveLoop(LoopOptions options = {});
  ~LiveLoop();
  LiveLoop(const LiveLoop&) = delete;
  LiveLoop& operator=(const LiveLoop&) = delete;

  // Any thread.
  void inject(Function function);
  void stop();  // run() returns after the turn that sees it
  Time now() const;

  // The loop's thread.
  void run();
  // The time when this turn began, or its sleep ended, or a few turns before: for approximate uses,
  // because reading the clock costs as much as half a small message.
  Time turn_time() const { return turn_time_; }
  void defer(Function function);  // runs in the next turn, after timers and messages
  Timer at(Time time, Function function);
  void cancel(Timer timer);
  void watch(int descriptor, Function readable);
  void watch(int descriptor, Readiness interest, ReadyFunction ready);
  void rewatch(int descriptor, Readiness interest);  // changes the interest, keeps the function
  void unwatch(int descriptor);                      // REQUIRES: it is still open
  // Blocks the signal in the calling thread and handles it in the loop. Threads started later
  // inherit the mask; earlier threads must not exist, or they would get the signal.
  void watch_signal(int signal, Function received);
  // Polls in every turn, and for `spin` before each sleep: a wake-up costs more than the wait for
  // the next message in dense traffic. The spin grows up to 16 times while sleeps turn out short,
  // because two loops would otherwise keep waking each other, and it is that long during a
  // transfer. While work runs on other threads the loop does not spin: it would take their core,
  // and a transfer beside work can wait. During a long transfer it then naps instead of waking for
  // each packet, and handles what has arrived in one go, because each wake-up interrupts the work.
  // REQUIRES: the poller's descriptor is watched.
  void add_poller(Poller& poller, Duration spin);
  void remove_poller(Poller& poller);
  void add_stall_source(StallSource& source);
  void remove_stall_source(StallSource& source);
  void on_stall(StallHook hook) { stall_hook_ = std::move(hook); }

  Executor& executor() { return executor_; }
  Context context() { return {&executor_, nullptr}; }

  // The number of turns of run() and of sleeps: an idle loop makes neither.
  std::uint64_t turns() const { return turns_; }
  std::uint64_t sleeps() const { return sleeps_; }
  std::uint64_t naps() const { return naps_; }  // beside work, during a transfer
  std::uint64_t wake_ups() const;               // by inject(), with a system call; any thread

  // A function of this loop runs or waits on another thread, or ended there. Any thread.
  void work_away() { away_.fetch_add(1, std::memory_order_relaxed); }
  void work_back() { away_.fetch_sub(1, std::memory_order_relaxed); }

 private:
  struct Watched {
    StallSource* source;
    std::uint64_t progress;  // at the last check,
    Time since;              // and since when it has that value
    bool reported;
  };

  void turn();
  void run_injected();
  void run_deferred();
  void fire_timers();
  bool has_work();
  bool poll();
  void flush();
  bool arm();
  bool spin();
  int spin_times(const Poller& poller) const;
  void judge_sleep(Duration slept);
  void sleep();
  Duration nap_time() const;
  bool napping() const;
  void nap();
  bool fall_asleep();
  void wake();
  void set_alarm();
  void wait(int timeout_ms);
  void arm_stall_check();
  void check_stalls();

  const LoopOptions options_;
  Executor executor_;

  mutable std::mutex mutex_;
  std::vector<Function> injected_;  // guarded by mutex_
  // Whether there are any; a turn that finds none takes no lock. sleep() locks and checks again.
  std::atomic<bool> any_injected_ = false;
  bool asleep_ = false;         // guarded by mutex_
  std::uint64_t wake_ups_ = 0;  // guarded by mutex_

  std::vector<Function> running_;  // the current batch
  std::vector<Function> deferred_;
  std::map<TimerKey, Function> timers_;
  std::uint64_t timer_sequence_ = 0;
  Time alarm_at_ = Time::max();  // the time set in the timer descriptor
  std::map<int, std::shared_ptr<ReadyFunction>> watched_;
  std::vector<int> signals_;  // signal descriptors, closed with the loop
  struct Polled {
    Poller* poller;  // null once removed, until the end of the turn
    Duration spin;
  };
  std::vector<Polled> pollers_;
  Time turn_time_{};
  bool traffic_ = false;  // in the previous turn
  int brief_turns_ = 0;   // since the last reading of the clock
  Time nap_until_{};
  Time spin_until_{};
  Duration spin_for_{};  // from the next turn on, because this one had polled something
  int spin_times_ = 1;   // a power of two
  std::atomic<int> away_ = 0;
  std::vector<Watched> stall_sources_;
  Timer stall_check_ = nullptr;
  StallHook stall_hook_;

  int epoll_ = -1;
  int event_ = -1;
  int alarm_ = -1;
  bool stopping_ = false;
  std::uint64_t turns_ = 0;
  std::uint64_t sleeps_ = 0;
  std::uint64_t naps_ = 0;
};

// Runs the task on this thread until it ends; rethrows its exception. The loop also handles
// everything else meanwhile. REQUIRES: no thread is in loop.run().
void run_task(LiveLoop& loop, Task<void> task);

}  // namespace shoal
