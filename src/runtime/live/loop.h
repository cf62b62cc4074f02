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

// A network library that must be driven, and that can be put to sleep on a descriptor.
class Poller {
 public:
  virtual ~Poller() = default;
  // The loop ends: nothing that was begun waits for the next poll().
  virtual void flush() {}
  virtual bool poll() = 0;  // true when something happened
  virtual bool arm() = 0;   // false when something came in meanwhile: poll again before sleeping
  // How long the transfers that are going on will take, as far as can be told; zero: there are
  // none. The next piece of one is worth more than a short spin.
  virtual Duration ahead() const { return Duration::zero(); }
};

// Something whose operations may wait in vain: an endpoint. Asked only when its loop goes to sleep.
class StallSource {
 public:
  virtual ~StallSource() = default;
  virtual bool pending() const = 0;                // an operation waits
  virtual std::uint64_t progress() const = 0;      // changes when an operation begins or ends
  virtual std::vector<std::string> waiting() = 0;  // a line for each: who, for whom, for what
};

// What a descriptor is watched for, and what it was found ready for. An error or a hang-up is ready
// for both: the call that is then made says what is wrong.
struct Readiness {
  bool readable = false;
  bool writable = false;
  bool operator==(const Readiness&) const = default;
};

struct LoopOptions {
  // Where Time begins. The loops of one job share it.
  std::chrono::steady_clock::time_point origin = std::chrono::steady_clock::now();
  // How long it polls, instead of sleeping, after what it was injected: work that came back, as a
  // rule, and whose core would idle otherwise. Only while no work is away.
  Duration awake{};
  // A source that waits for so long without any progress is reported.
  Duration stall_after = std::chrono::seconds(5);
};

// Thread safety: inject() and stop() may be called from any thread, everything else only by the
// thread in run(), or by the owner while no thread is in it. Invariants:
// 1. Injected functions run in the order of their injection, each exactly once (those that are
//    left when run() returns run in the next run(), or are destroyed with the loop).
// 2. The loop never sleeps while an injected or deferred function, a ready coroutine or a due timer
//    is left: asleep_ is set under the mutex, after the queue was seen empty under it.
// 3. While the loop is awake, inject() makes no system call.
// Large class: whether the loop may sleep depends on all of its queues at once (invariant 2).
class LiveLoop {
 public:
  using Function = std::function<void()>;
  using ReadyFunction = std::function<void(Readiness)>;
  struct TimerKey {
    Time at;
    std::uint64_t sequence = 0;  // timers of one instant fire in the order they were set
    auto operator<=>(const TimerKey&) const = default;
  };
  using Timer = const TimerKey*;  // valid until it fires or is cancelled
  // Gets a line for each operation that waits. Called once per stall; the default prints.
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
  // When this turn began, or its sleep ended, or a few turns before: for what need not be exact,
  // since a look at the clock costs as much as half a small message.
  Time turn_time() const { return turn_time_; }
  void defer(Function function);  // runs in the next turn, so that timers and messages get theirs
  Timer at(Time time, Function function);
  void cancel(Timer timer);
  void watch(int descriptor, Function readable);
  void watch(int descriptor, Readiness interest, ReadyFunction ready);
  void rewatch(int descriptor, Readiness interest);  // changes the interest, keeps the function
  void unwatch(int descriptor);                      // REQUIRES: it is still open
  // Blocks the signal in the calling thread and takes it here instead. Threads started later
  // inherit the mask; those started before must not exist, or they would get the signal.
  void watch_signal(int signal, Function received);
  // Polls in every turn, and for `spin` before each sleep: a wake-up costs more than dense traffic
  // takes to bring the next message. Longer, up to 16 times, while sleeps turn out short: two loops
  // that wake each other would never get out of it; and that long while a transfer is going on.
  // While work is away not at all: what spins takes its core, and a transfer beside it can wait.
  // Then a long transfer does not even wake the loop: it naps, and takes what has come in one go,
  // since whoever is woken for each packet interrupts the work as often.
  // REQUIRES: the poller's descriptor is watched.
  void add_poller(Poller& poller, Duration spin);
  void remove_poller(Poller& poller);
  void add_stall_source(StallSource& source);
  void remove_stall_source(StallSource& source);
  void on_stall(StallHook hook) { stall_hook_ = std::move(hook); }

  Executor& executor() { return executor_; }
  Context context() { return {&executor_, nullptr}; }

  // How often run() went round, and how often it slept: an idle loop does neither.
  std::uint64_t turns() const { return turns_; }
  std::uint64_t sleeps() const { return sleeps_; }
  std::uint64_t naps() const { return naps_; }  // beside work, in the middle of a transfer
  std::uint64_t wake_ups() const;               // by inject(), with a system call; any thread

  // A function runs for this loop on another thread, or waits there; and does not any more. Any
  // thread.
  void work_away() { away_.fetch_add(1, std::memory_order_relaxed); }
  void work_back() { away_.fetch_sub(1, std::memory_order_relaxed); }

 private:
  struct Watched {
    StallSource* source;
    std::uint64_t progress;  // when last looked at,
    Time since;              // and since when it has been so
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
  // Whether there are some; a turn that finds none takes no lock. sleep() does, and looks again.
  std::atomic<bool> any_injected_ = false;
  bool asleep_ = false;         // guarded by mutex_
  std::uint64_t wake_ups_ = 0;  // guarded by mutex_

  std::vector<Function> running_;  // the batch that is being run
  std::vector<Function> deferred_;
  std::map<TimerKey, Function> timers_;
  std::uint64_t timer_sequence_ = 0;
  Time alarm_at_ = Time::max();  // what the timer descriptor is set to
  std::map<int, std::shared_ptr<ReadyFunction>> watched_;
  std::vector<int> signals_;  // signal descriptors, closed with the loop
  struct Polled {
    Poller* poller;  // null once it was removed, until the end of the turn
    Duration spin;
  };
  std::vector<Polled> pollers_;
  Time turn_time_{};
  bool traffic_ = false;  // in the turn before
  int brief_turns_ = 0;   // since the clock was looked at
  Time nap_until_{};
  Time spin_until_{};
  Duration spin_for_{};  // from the next turn on: something was polled in this one
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

// Runs the task on this thread until it has ended; throws what it throws. The loop goes on with
// whatever else it has meanwhile. REQUIRES: no thread is in loop.run().
void run_task(LiveLoop& loop, Task<void> task);

}  // namespace shoal
