#include "sim/event_queue.h"

#include <algorithm>
#include <utility>

namespace shoal {
namespace {

constexpr std::size_t kBucket = 32;     // entries per bucket, when a rung is cut
constexpr std::size_t kHeapMost = 512;  // entries; more are cut into a rung

}  // namespace

// Calls f for every container of entries.
template <class F>
void EventQueue::each_pile(F visit) {
  visit(heap_);
  for (Rung& rung : rungs_)
    for (std::vector<Entry>& bucket : rung.buckets) visit(bucket);
  visit(far_);
}

EventQueue::~EventQueue() {
  each_pile([](const std::vector<Entry>& pile) {
    for (const Entry& entry : pile) entry.what->discard();
  });
}

void EventQueue::schedule(Time at, Occurrence& what) {
  SHOAL_CHECK(at >= now_, "scheduled {} s before now", seconds(now_ - at));
  const Entry entry{at, sequence_++, &what};
  ++size_;
  if (at < heap_end_) {
    heap_.push_back(entry);
    sift_up(heap_.size() - 1);
    if (heap_.size() > kHeapMost && heap_end_ - now_ > Duration(1)) {
      if (heap_end_ == kEnd) heap_end_ = std::ranges::max(heap_, {}, &Entry::at).at + Duration(1);
      rungs_.push_back(cut(now_, heap_end_, heap_));
      heap_.clear();
      heap_end_ = now_;
    }
    return;
  }
  const auto rung = std::ranges::find_if(rungs_.rbegin(), rungs_.rend(),
                                         [at](const Rung& r) { return at < r.end; });
  (rung == rungs_.rend() ? far_ : rung->bucket_of(at)).push_back(entry);
}

Occurrence& EventQueue::pop() {
  if (heap_.empty()) refill();
  const Entry top = heap_.front();
  heap_.front() = heap_.back();
  heap_.pop_back();
  if (!heap_.empty()) {
    sift_down(0);
    // Of a million entries the next one is in no cache; prefetch it.
    __builtin_prefetch(heap_.front().what);
  }
  --size_;
  now_ = top.at;
  ++processed_;
  if (top.what->called_off && called_off_ > 0) --called_off_;
  return *top.what;
}

// REQUIRES: begin < end, and all entries lie in between.
EventQueue::Rung EventQueue::cut(Time begin, Time end, const std::vector<Entry>& entries) {
  const std::size_t most = entries.size() / kBucket + 1;
  const Duration span = (end - begin - Duration(1)) / most + Duration(1);
  Rung rung{begin, end, span, {}};
  rung.buckets.resize((end - begin - Duration(1)) / span + 1);
  for (const Entry& entry : entries) {
    std::vector<Entry>& bucket = rung.bucket_of(entry.at);
    if (bucket.empty()) bucket.reserve(kBucket);
    bucket.push_back(entry);
  }
  return rung;
}

// Turns the next bucket into the heap. REQUIRES: the heap is empty, but not the queue.
void EventQueue::refill() {
  while (heap_.empty()) {
    if (rungs_.empty() && far_.size() <= kHeapMost / 2) {
      heap_end_ = kEnd;
      become_heap(std::exchange(far_, {}));
      return;
    }
    if (rungs_.empty()) {
      const auto [first, last] = std::ranges::minmax(far_, {}, &Entry::at);
      heap_end_ = first.at;
      rungs_.push_back(cut(first.at, last.at + Duration(1), std::exchange(far_, {})));
    }
    Rung& rung = rungs_.back();
    while (rung.next < rung.buckets.size() && rung.buckets[rung.next].empty()) ++rung.next;
    heap_end_ = rung.start_of(rung.next);
    if (rung.next == rung.buckets.size()) {
      rungs_.pop_back();
      continue;
    }
    std::vector<Entry> bucket = std::exchange(rung.buckets[rung.next++], {});
    const Time end = rung.start_of(rung.next);
    if (bucket.size() > kHeapMost && rung.span > Duration(1)) {
      rungs_.push_back(cut(heap_end_, end, bucket));
    } else {
      heap_end_ = end;
      become_heap(std::move(bucket));
    }
  }
}

// A sorted array is a heap.
void EventQueue::become_heap(std::vector<Entry> entries) {
  std::ranges::sort(entries, [](const Entry& a, const Entry& b) { return a.before(b); });
  heap_ = std::move(entries);
}

void EventQueue::note_called_off() {
  ++called_off_;
  if (called_off_ < 1024 || called_off_ * 2 < size_) return;
  const auto called_off = [](const Entry& entry) {
    if (entry.what->called_off) entry.what->discard();
    return entry.what->called_off;
  };
  each_pile([&](std::vector<Entry>& pile) { size_ -= std::erase_if(pile, called_off); });
  called_off_ = 0;
  become_heap(std::move(heap_));
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
