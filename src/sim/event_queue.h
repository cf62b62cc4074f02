// Virtual time: future events in order of time, ties broken by the order of scheduling.
//
// Near events are in a heap; if there are few events, all of them. Later ones are in unsorted
// buckets by spans of time. The next bucket becomes the heap; a large one is first cut into finer
// buckets. So the cost of an event does not depend on the number of events: it is put into a few
// buckets, and sorted among some dozens. Tang, Goh & Thng, "Ladder queue", TOMACS 15(3), 2005.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/check.h"
#include "base/types.h"

namespace shoal {

// An event at a point of virtual time, for one node or for the world.
class Occurrence {
 public:
  virtual ~Occurrence() = default;
  virtual void happen() = 0;
  // It will not happen (its node died, the run ended): release what it holds.
  virtual void discard() = 0;

  NodeId target = kNobody;  // the node it happens to; events of a frozen node wait
  Incarnation life{};       // of that node; events of other incarnations are discarded
  bool called_off = false;  // discarded instead of happening
};

class EventQueue {
 public:
  EventQueue() = default;
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;
  ~EventQueue();

  Time now() const { return now_; }
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  std::uint64_t processed() const { return processed_; }

  // REQUIRES: at >= now().
  void schedule(Time at, Occurrence& what);
  // Removes the next event; time jumps to it. REQUIRES: not empty.
  Occurrence& pop();
  // An event was called off. Once these are the majority they are removed. The count is a hint,
  // because some may wait elsewhere (at a cut link, for a frozen node).
  void note_called_off();

 private:
  struct Entry {
    Time at;
    std::uint64_t sequence;
    Occurrence* what;
    bool before(const Entry& o) const { return at != o.at ? at < o.at : sequence < o.sequence; }
  };
  // Consecutive spans of equal length; the last may be shorter.
  struct Rung {
    Time begin, end;
    Duration span;
    std::vector<std::vector<Entry>> buckets;
    std::size_t next = 0;  // events of earlier buckets are in the rung below or in the heap

    Time start_of(std::size_t bucket) const { return std::min<Time>(begin + span * bucket, end); }
    std::vector<Entry>& bucket_of(Time at) { return buckets[(at - begin) / span]; }
  };
  static constexpr Time kEnd = Time::max();
  static Rung cut(Time begin, Time end, const std::vector<Entry>& entries);
  void refill();
  void become_heap(std::vector<Entry> entries);
  template <class F>
  void each_pile(F visit);
  void sift_up(std::size_t index);
  void sift_down(std::size_t index);

  std::vector<Entry> heap_;  // 4-ary; everything before heap_end_
  Time heap_end_ = kEnd;
  std::vector<Rung> rungs_;  // each lies in the bucket before `next` of the rung above
  std::vector<Entry> far_;   // after all rungs
  std::size_t size_ = 0;
  Time now_{};
  std::uint64_t sequence_ = 0;
  std::uint64_t processed_ = 0;
  std::size_t called_off_ = 0;
};

// A pool of objects that are created and destroyed by the million.
template <class T>
class Pool {
 public:
  template <class... Args>
  T& take(Args&&... args) {
    if (free_.empty()) {
      all_.push_back(std::make_unique<T>(std::forward<Args>(args)...));
      return *all_.back();
    }
    T& object = *free_.back();
    free_.pop_back();
    return object;
  }
  void give_back(T& object) { free_.push_back(&object); }
  std::size_t in_use() const { return all_.size() - free_.size(); }

 private:
  std::vector<std::unique_ptr<T>> all_;
  std::vector<T*> free_;
};

}  // namespace shoal
