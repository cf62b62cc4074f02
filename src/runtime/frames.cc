#include "runtime/frames.h"

#include <array>
#include <new>
#include <utility>

namespace shoal::detail {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t kLargest = 0;  // Who uses a frame that is gone shall be found.
#else
constexpr std::size_t kLargest = 4096;
#endif
constexpr std::size_t kGrain = 64;

std::size_t size_class(std::size_t size) { return (size + kGrain - 1) / kGrain; }

struct Free {
  Free* next;
};

thread_local bool ended = false;  // Frames may outlive what the thread keeps.

class Kept {
 public:
  Kept() = default;
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  ~Kept() {
    ended = true;
    for (Free* first : by_class_)
      while (first != nullptr) ::operator delete(std::exchange(first, first->next));
  }
  Free*& of(std::size_t size) { return by_class_[size_class(size)]; }

 private:
  std::array<Free*, kLargest / kGrain + 1> by_class_{};
};

thread_local Kept kept;

}  // namespace

void* take_frame(std::size_t size) {
  if (size > kLargest || ended) return ::operator new(size);
  Free*& first = kept.of(size);
  if (first == nullptr) return ::operator new(size_class(size) * kGrain);
  return std::exchange(first, first->next);
}

void give_back_frame(void* frame, std::size_t size) noexcept {
  if (size > kLargest || ended) return ::operator delete(frame);
  Free*& first = kept.of(size);
  first = new (frame) Free{first};
}

}  // namespace shoal::detail
