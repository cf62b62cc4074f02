// The ready ring: coroutines that can continue, in the order in which they became ready.
//
// Awaiting and finishing push handles here instead of using symmetric transfer (g++ 12 overflows
// the stack without optimization and under sanitizers). The order of the ring also makes a
// simulated run deterministic. See docs/coroutines.md.
#pragma once

#include <coroutine>
#include <cstddef>
#include <limits>
#include <vector>

namespace shoal {

// Thread safety: none; a ring belongs to the thread that runs it.
class Executor {
 public:
  Executor() : ring_(64) {}
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  void post(std::coroutine_handle<> handle) {
    if (size_ == ring_.size()) grow();
    ring_[(head_ + size_) & (ring_.size() - 1)] = handle;
    ++size_;
  }
  bool idle() const { return size_ == 0; }

  // Runs until nothing is ready or `most` coroutines have run; returns the number of resumptions.
  std::size_t run_ready(std::size_t most = std::numeric_limits<std::size_t>::max()) {
    std::size_t count = 0;
    while (count < most && run_one()) ++count;
    return count;
  }
  bool run_one() {
    if (size_ == 0) return false;
    const std::coroutine_handle<> handle = ring_[head_];
    head_ = (head_ + 1) & (ring_.size() - 1);
    --size_;
    handle.resume();
    return true;
  }

 private:
  void grow() {
    std::vector<std::coroutine_handle<>> bigger(ring_.size() * 2);
    for (std::size_t i = 0; i < size_; ++i) bigger[i] = ring_[(head_ + i) & (ring_.size() - 1)];
    ring_.swap(bigger);
    head_ = 0;
  }

  std::vector<std::coroutine_handle<>> ring_;  // a power of two
  std::size_t head_ = 0;
  std::size_t size_ = 0;
};

}  // namespace shoal
