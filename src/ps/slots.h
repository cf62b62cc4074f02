// Places for small messages under way. A cancelled operation may still read or write its range
// until the node retires its conversations: so these outlive the tasks that use them.
#pragma once

#include <deque>
#include <vector>

namespace shoal {

template <class T>
class Slots {
 public:
  T& take(T value) {
    if (free_.empty()) {
      all_.push_back(std::move(value));
      return all_.back();
    }
    T& slot = *free_.back();
    free_.pop_back();
    slot = std::move(value);
    return slot;
  }
  // REQUIRES: no operation uses it any more. Who is cancelled keeps it.
  void give_back(T& slot) {
    slot = T();
    free_.push_back(&slot);
  }

 private:
  std::deque<T> all_;
  std::vector<T*> free_;
};

}  // namespace shoal
