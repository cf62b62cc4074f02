#include "runtime/frames.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "base/memory.h"

namespace shoal::detail {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t kLargest = 0;  // AddressSanitizer shall find uses of freed frames
#else
constexpr std::size_t kLargest = 4096;
#endif
constexpr std::size_t kGrain = 64;
constexpr std::size_t kFirstSlab = std::size_t{64} << 10U;
constexpr std::size_t kLargestSlab = std::size_t{32} << 20U;

std::size_t size_class(std::size_t size) { return (size + kGrain - 1) / kGrain; }

struct Free {
  Free* next;
};

thread_local bool ended = false;  // frames may outlive the thread's cache

// Frames are cut from slabs, each twice as large as the one before: a simulation of many nodes has
// gigabytes of frames and touches them in random order, which misses the TLB less often in large
// pages.
class Kept {
 public:
  Kept() = default;
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  ~Kept() {
    ended = true;
    // Another thread still has a frame of these slabs, so they are kept.
    if (!all_are_here()) new std::vector<Slab>(std::move(slabs_));
  }
  void* take(std::size_t size) {
    Free*& first = by_class_[size_class(size)];
    if (first != nullptr) return std::exchange(first, first->next);
    return cut(size_class(size) * kGrain);
  }
  void give_back(void* frame, std::size_t size) {
    Free*& first = by_class_[size_class(size)];
    first = new (frame) Free{first};
  }

 private:
  struct Slab {
    std::shared_ptr<std::byte> memory;
    std::size_t size;
    const std::byte* begin() const { return memory.get(); }
    const std::byte* end() const { return memory.get() + size; }
  };

  void* cut(std::size_t size) {
    if (room_ < size) {
      room_ = slabs_.empty() ? kFirstSlab : std::min(2 * slabs_.back().size, kLargestSlab);
      slabs_.push_back({allocate_zeroed(room_), room_});
    }
    const Slab& slab = slabs_.back();
    room_ -= size;
    ++cut_;
    return slab.memory.get() + (slab.size - room_ - size);
  }
  bool all_are_here() {
    std::ranges::sort(slabs_, {}, &Slab::begin);
    const auto is_ours = [&](const Free* frame) {
      const auto* const at = reinterpret_cast<const std::byte*>(frame);
      const auto after = std::ranges::upper_bound(slabs_, at, {}, &Slab::begin);
      return after != slabs_.begin() && at < std::prev(after)->end();
    };
    std::size_t here = 0;
    for (const Free* frame : by_class_)
      for (; frame != nullptr; frame = frame->next)
        if (is_ours(frame)) ++here;
    return here == cut_;
  }

  std::array<Free*, kLargest / kGrain + 1> by_class_{};
  std::vector<Slab> slabs_;
  std::size_t room_ = 0;  // at the end of the last slab
  std::size_t cut_ = 0;   // number of frames cut
};

thread_local Kept kept;

}  // namespace

void* take_frame(std::size_t size) {
  if (size > kLargest || ended) return ::operator new(size);
  return kept.take(size);
}

void give_back_frame(void* frame, std::size_t size) noexcept {
  if (size > kLargest) return ::operator delete(frame);
  // The owner is no longer known, so the frame is leaked.
  if (!ended) kept.give_back(frame, size);
}

}  // namespace shoal::detail
