#include "runtime/live/compute_thread.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/check.h"

namespace shoal {
namespace {

// Looks between two at the clock, which takes longer.
constexpr int kLooksPerClock = 16;

// Tells a core that shares its units with another that this one only waits.
void pause_core() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

ComputeThread::ComputeThread(Duration awake) : awake_(awake), thread_([this] { main(); }) {}

ComputeThread::~ComputeThread() {
  {
    const std::lock_guard lock(mutex_);
    SHOAL_CHECK(queue_.empty(), "a compute thread ended with {} functions queued", queue_.size());
    stopping_ = true;
    wanted_.store(true, std::memory_order_release);
  }
  wake_.notify_one();
  thread_.join();
}

ComputeThread::Ticket ComputeThread::submit(LiveLoop& loop, std::function<void()> run,
                                            std::function<void(std::exception_ptr)> done) {
  Ticket ticket = 0;
  {
    const std::lock_guard lock(mutex_);
    SHOAL_CHECK(!stopping_, "work was submitted to a compute thread that ends");
    ticket = next_++;
    queue_.push_back({ticket, &loop, std::move(run), std::move(done)});
    wanted_.store(true, std::memory_order_release);
  }
  loop.work_away();
  wake_.notify_one();
  return ticket;
}

bool ComputeThread::revoke(Ticket ticket) {
  const std::lock_guard lock(mutex_);
  const auto it = std::ranges::find(queue_, ticket, &Job::ticket);
  if (it == queue_.end()) return false;
  it->loop->work_back();
  queue_.erase(it);
  wanted_.store(!queue_.empty(), std::memory_order_release);
  return true;
}

void ComputeThread::look_for_work() const {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + awake_;
  do {
    for (int i = 0; i < kLooksPerClock; ++i) {
      if (wanted_.load(std::memory_order_acquire)) return;
      pause_core();
    }
  } while (Clock::now() < end);
}

void ComputeThread::main() {
  while (true) {
    Job job;
    if (awake_ > Duration::zero()) look_for_work();
    {
      std::unique_lock lock(mutex_);
      while (!stopping_ && queue_.empty()) {
        sleeps_.fetch_add(1, std::memory_order_relaxed);
        wake_.wait(lock);
      }
      if (queue_.empty()) return;
      job = std::move(queue_.front());
      queue_.pop_front();
      wanted_.store(stopping_ || !queue_.empty(), std::memory_order_release);
    }
    std::exception_ptr error;
    try {
      job.run();
    } catch (...) {
      error = std::current_exception();
    }
    job.run = nullptr;
    job.loop->work_back();
    // Moved all the way: the exception must be let go of by one thread only, the loop's.
    job.loop->inject([done = std::move(job.done), e = std::move(error)]() mutable {
      done(std::exchange(e, nullptr));
    });
  }
}

}  // namespace shoal
