// ComputeThread: runs functions one after the other, away from the loop, and reports back to it.
//
// Between two of them it may stay awake for a while: see job/process.h.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "runtime/live/loop.h"

namespace shoal {

// Thread safety: every method may be called from any thread. Invariants:
// 1. Functions run in the order submitted, one at a time.
// 2. For each ticket either revoke() returns true, and neither `run` nor `done` is ever called, or
//    `run` is called once and then `done` once, by the loop.
class ComputeThread {
 public:
  using Ticket = std::uintptr_t;  // 0 is never given

  // For `awake` after each function it looks for the next; only then it sleeps.
  explicit ComputeThread(Duration awake = Duration::zero());
  // Ends after the function that runs now. REQUIRES: nobody waits for one that is still queued.
  ~ComputeThread();
  ComputeThread(const ComputeThread&) = delete;
  ComputeThread& operator=(const ComputeThread&) = delete;

  // `done` is called on the loop's thread, with what `run` threw, or null. The loop must outlive
  // this object.
  Ticket submit(LiveLoop& loop, std::function<void()> run,
                std::function<void(std::exception_ptr)> done);
  bool revoke(Ticket ticket);

  std::uint64_t sleeps() const { return sleeps_.load(std::memory_order_relaxed); }

 private:
  struct Job {
    Ticket ticket;
    LiveLoop* loop;
    std::function<void()> run;
    std::function<void(std::exception_ptr)> done;
  };
  void main();
  void look_for_work() const;

  const Duration awake_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job> queue_;  // guarded by mutex_, as are the two below
  Ticket next_ = 1;
  bool stopping_ = false;
  std::atomic<bool> wanted_ = false;  // stopping_, or queue_ has one; written as they are
  std::atomic<std::uint64_t> sleeps_ = 0;
  std::thread thread_;  // last: it uses everything above
};

}  // namespace shoal
