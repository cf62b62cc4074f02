#include "sim/event_queue.h"

#include <algorithm>
#include <utility>

namespace shoal {

EventQueue::~EventQueue() {
  for (const Entry& entry : heap_) entry.what->discard();
}

void EventQueue::schedule(Time at, Occurrence& what) {
  SHOAL_CHECK(at >= now_, "scheduled {} s before now", seconds(now_ - at));
  heap_.push_back(Entry{at, sequence_++, &what});
  sift_up(heap_.size() - 1);
}

Occurrence& EventQueue::pop() {
  const Entry top = heap_.front();
  heap_.front() = heap_.back();
  heap_.pop_back();
  if (!heap_.empty()) sift_down(0);
  now_ = top.at;
  ++processed_;
  if (top.what->called_off && called_off_ > 0) --called_off_;
  return *top.what;
}

void EventQueue::note_called_off() {
  ++called_off_;
  if (called_off_ < 1024 || called_off_ * 2 < heap_.size()) return;
  std::vector<Entry> kept;
  for (const Entry& entry : heap_) {
    if (entry.what->called_off) {
      entry.what->discard();
    } else {
      kept.push_back(entry);
    }
  }
  heap_.swap(kept);
  called_off_ = 0;
  // A sorted array is a heap.
  std::ranges::sort(heap_, [](const Entry& a, const Entry& b) { return a.before(b); });
}

void EventQueue::sift_up(std::size_t index) {
  const Entry entry = heap_[index];
  while (index > 0) {
    const std::size_t parent = (index - 1) / 4;
    if (!entry.before(heap_[parent])) break;
    heap_[index] = heap_[parent];
    index = parent;
  }
  heap_[index] = entry;
}

void EventQueue::sift_down(std::size_t index) {
  const Entry entry = heap_[index];
  while (true) {
    const std::size_t first = index * 4 + 1;
    if (first >= heap_.size()) break;
    std::size_t least = first;
    const std::size_t end = std::min(first + 4, heap_.size());
    for (std::size_t child = first + 1; child < end; ++child)
      if (heap_[child].before(heap_[least])) least = child;
    if (!heap_[least].before(entry)) break;
    heap_[index] = heap_[least];
    index = least;
  }
  heap_[index] = entry;
}

}  // namespace shoal
