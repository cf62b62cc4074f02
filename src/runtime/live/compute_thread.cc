#include "runtime/live/compute_thread.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace shoal {

ComputeThread::ComputeThread() : thread_([this] { main(); }) {}

ComputeThread::~ComputeThread() {
  {
    const std::lock_guard lock(mutex_);
    SHOAL_CHECK(queue_.empty(), "a compute thread ended with {} functions queued", queue_.size());
    stopping_ = true;
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
  return true;
}

void ComputeThread::main() {
  while (true) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
      if (queue_.empty()) return;
      job = std::move(queue_.front());
      queue_.pop_front();
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
