// ComputeThread: runs functions one after the other on a thread of its own, and reports back to the
// loop.
//
// Between two functions it may spin for a while (launch/process.h), and it may leave a core that
// has become slow (core_pace.h).
#pragma once

#include <sched.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "runtime/live/core_pace.h"
#include "runtime/live/loop.h"

namespace shoal {

struct ComputeThreadOptions {
  Duration awake{};    // time to spin for the next function before it sleeps
  bool roams = false;  // leaves a core on which steady functions have become slow
  Seed seed{};         // used only if it roams
};

// Whether a function is one of many that take about the same time.
enum class Steady { No, Yes };

// Thread safety: every method may be called from any thread. Invariants:
// 1. Functions run in the order submitted, one at a time.
// 2. For each ticket either revoke() returns true, and neither `run` nor `done` is ever called, or
//    `run` is called once and then `done` once, by the loop.
class ComputeThread {
 public:
  using Ticket = std::uintptr_t;  // never 0

  explicit ComputeThread(ComputeThreadOptions options = {});
  // Waits for the running function. REQUIRES: no caller waits for a queued one.
  ~ComputeThread();
  ComputeThread(const ComputeThread&) = delete;
  ComputeThread& operator=(const ComputeThread&) = delete;

  // `done` is called on the loop's thread, with the exception of `run` or null. The loop must
  // outlive this object.
  Ticket submit(LiveLoop& loop, std::function<void()> run,
                std::function<void(std::exception_ptr)> done, Steady steady = Steady::No);
  bool revoke(Ticket ticket);

  std::uint64_t sleeps() const { return sleeps_.load(std::memory_order_relaxed); }
  std::uint64_t moves() const { return moves_.load(std::memory_order_relaxed); }
  bool leaving() const;  // it sleeps as soon as it can, to be moved

 private:
  struct Job {
    Ticket ticket;
    LiveLoop* loop;
    std::function<void()> run;
    std::function<void(std::exception_ptr)> done;
    Steady steady;
  };
  void main();
  void look_for_work() const;
  void run_steady(const std::function<void()>& run);
  void move_sleeper();
  void arrive();

  const ComputeThreadOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job> queue_;  // guarded by mutex_, like the fields below
  Ticket next_ = 1;
  bool stopping_ = false;
  pid_t sleeper_ = 0;                 // the thread itself, while it sleeps
  std::optional<cpu_set_t> refuge_;   // the cores to move to at the next wake-up
  std::optional<cpu_set_t> home_;     // the usual cores, while the mask is restricted to refuge_
  std::atomic<bool> wanted_ = false;  // stopping_ or a non-empty queue_; written together with them
  std::atomic<std::uint64_t> sleeps_ = 0;
  std::atomic<std::uint64_t> moves_ = 0;
  CorePace pace_;       // used only by the thread itself
  std::thread thread_;  // last: it uses everything above
};

}  // namespace shoal
