// ComputeThread: runs functions one after the other, away from the loop, and reports back to it.
//
// Between two of them it may stay awake for a while (launch/process.h), and it may leave a core
// that has become slow (core_pace.h).
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
  Duration awake{};    // for so long after each function it looks for the next; then it sleeps
  bool roams = false;  // leaves a core on which steady functions have become slow
  Seed seed{};         // of its own, if it roams
};

// Whether a function is one of many that take about as long.
enum class Steady { No, Yes };

// Thread safety: every method may be called from any thread. Invariants:
// 1. Functions run in the order submitted, one at a time.
// 2. For each ticket either revoke() returns true, and neither `run` nor `done` is ever called, or
//    `run` is called once and then `done` once, by the loop.
class ComputeThread {
 public:
  using Ticket = std::uintptr_t;  // 0 is never given

  explicit ComputeThread(ComputeThreadOptions options = {});
  // Ends after the function that runs now. REQUIRES: nobody waits for one that is still queued.
  ~ComputeThread();
  ComputeThread(const ComputeThread&) = delete;
  ComputeThread& operator=(const ComputeThread&) = delete;

  // `done` is called on the loop's thread, with what `run` threw, or null. The loop must outlive
  // this object.
  Ticket submit(LiveLoop& loop, std::function<void()> run,
                std::function<void(std::exception_ptr)> done, Steady steady = Steady::No);
  bool revoke(Ticket ticket);

  std::uint64_t sleeps() const { return sleeps_.load(std::memory_order_relaxed); }
  std::uint64_t moves() const { return moves_.load(std::memory_order_relaxed); }
  bool leaving() const;  // It sleeps as soon as it can, to be moved.

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
  std::deque<Job> queue_;  // guarded by mutex_, as are those below
  Ticket next_ = 1;
  bool stopping_ = false;
  pid_t sleeper_ = 0;                 // the thread itself, while it sleeps
  std::optional<cpu_set_t> refuge_;   // where it goes from a slow core, when it is woken next
  std::optional<cpu_set_t> home_;     // where it may be, while it is only let go there
  std::atomic<bool> wanted_ = false;  // stopping_, or queue_ has one; written as they are
  std::atomic<std::uint64_t> sleeps_ = 0;
  std::atomic<std::uint64_t> moves_ = 0;
  CorePace pace_;       // the thread's own
  std::thread thread_;  // last: it uses everything above
};

}  // namespace shoal
