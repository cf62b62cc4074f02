#include "runtime/live/compute_thread.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <utility>

#include "base/check.h"

namespace shoal {
namespace {

// Queue checks between two readings of the clock, which takes longer.
constexpr int kLooksPerClock = 16;

// Tells a hardware thread that shares a core that this one only waits.
void pause_core() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

// CPU time of the thread, without time given to others.
Duration time_of_this_thread() {
  timespec t{};
  SHOAL_CHECK_EQ(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t), 0);
  return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

Time now() {
  return Time(
      std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()));
}

// Cores where a thread may run, except this one and, as long as others are left, those that were
// slow recently. Empty: there are none, or the kernel does not tell.
std::optional<cpu_set_t> others(const CorePace& pace, int core) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return std::nullopt;
  CPU_CLR(core, &set);
  cpu_set_t fast = set;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (pace.slow_lately(i, now())) CPU_CLR(i, &fast);
  if (CPU_COUNT(&fast) > 0) return fast;
  return CPU_COUNT(&set) > 0 ? std::optional(set) : std::nullopt;
}

}  // namespace

ComputeThread::ComputeThread(ComputeThreadOptions options)
    : options_(options), pace_(options.seed), thread_([this] { main(); }) {}

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
                                            std::function<void(std::exception_ptr)> done,
                                            Steady steady) {
  Ticket ticket = 0;
  {
    const std::lock_guard lock(mutex_);
    SHOAL_CHECK(!stopping_, "work was submitted to a compute thread that ends");
    ticket = next_++;
    queue_.push_back({ticket, &loop, std::move(run), std::move(done), steady});
    wanted_.store(true, std::memory_order_release);
    if (refuge_ && sleeper_ != 0) move_sleeper();
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
  const Clock::time_point end = Clock::now() + options_.awake;
  do {
    for (int i = 0; i < kLooksPerClock; ++i) {
      if (wanted_.load(std::memory_order_acquire)) return;
      pause_core();
    }
  } while (Clock::now() < end);
}

void ComputeThread::run_steady(const std::function<void()>& run) {
  const Duration begin = time_of_this_thread();
  run();
  const int core = sched_getcpu();
  if (!pace_.leave(core, now(), time_of_this_thread() - begin)) return;
  std::optional<cpu_set_t> refuge = others(pace_, core);
  const std::lock_guard lock(mutex_);
  refuge_ = refuge;
}

bool ComputeThread::leaving() const {
  if (!options_.roams) return false;
  const std::lock_guard lock(mutex_);
  return refuge_.has_value();
}

// A sleeping thread wakes on an idle core of its mask; a running thread would be moved to any core,
// even a busy one.
void ComputeThread::move_sleeper() {
  cpu_set_t all;
  if (sched_getaffinity(sleeper_, sizeof all, &all) == 0 &&
      sched_setaffinity(sleeper_, sizeof *refuge_, &*refuge_) == 0) {
    home_ = all;
    moves_.fetch_add(1, std::memory_order_relaxed);
  }
  refuge_.reset();
}

// Allows all cores again: the kernel may place the thread anywhere.
void ComputeThread::arrive() {
  if (home_) sched_setaffinity(0, sizeof *home_, &*home_);
  home_.reset();
}

void ComputeThread::main() {
  while (true) {
    Job job;
    if (options_.awake > Duration::zero() && !leaving()) look_for_work();
    {
      std::unique_lock lock(mutex_);
      while (!stopping_ && queue_.empty()) {
        sleeps_.fetch_add(1, std::memory_order_relaxed);
        sleeper_ = gettid();
        wake_.wait(lock);
        sleeper_ = 0;
        arrive();
      }
      if (queue_.empty()) return;
      job = std::move(queue_.front());
      queue_.pop_front();
      wanted_.store(stopping_ || !queue_.empty(), std::memory_order_release);
    }
    const bool timed = options_.roams && job.steady == Steady::Yes;
    std::exception_ptr error;
    try {
      timed ? run_steady(job.run) : job.run();
    } catch (...) {
      error = std::current_exception();
    }
    job.run = nullptr;
    job.loop->work_back();
    // Moved all the way, so that only the loop's thread releases the exception.
    job.loop->inject([done = std::move(job.done), e = std::move(error)]() mutable {
      done(std::exchange(e, nullptr));
    });
  }
}

}  // namespace shoal
