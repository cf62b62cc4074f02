// Regions: the window memory of this process, which peers know by number; and staging memory, which
// is cut from regions.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/types.h"
#include "runtime/buffer.h"
#include "transport/shm/memory.h"

namespace shoal::shm {

using RegionId = std::uint32_t;

// The ended regions, so that peers can be told. Any thread may release a region, also after its
// carrier has ended. Thread safety: all methods may be called from any thread.
class Graveyard {
 public:
  void bury(RegionId id);
  bool empty() const { return !any_.load(std::memory_order_acquire); }
  std::vector<RegionId> clear();

 private:
  std::atomic<bool> any_ = false;
  std::mutex mutex_;
  std::vector<RegionId> ids_;  // guarded by mutex_
};

struct Region {
  Region(RegionId number, Bytes size, std::shared_ptr<Graveyard> yard)
      : id(number), memory("shoal-region", size), graveyard(std::move(yard)) {}
  ~Region() { graveyard->bury(id); }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  const RegionId id;
  const OwnMemory memory;
  const std::shared_ptr<Graveyard> graveyard;
};
using RegionPtr = std::shared_ptr<Region>;

// Thread safety: none, but any thread may release the regions that it makes.
class Regions {
 public:
  RegionPtr make(Bytes size);             // throws Error
  void publish(const RegionPtr& region);  // find() knows it from now on
  // The region that contains a payload; null if there is none.
  RegionPtr find(ConstBuf payload) const;
  bool any_gone() const { return !graveyard_->empty(); }
  std::vector<RegionId> take_gone();

 private:
  RegionId next_ = 1;
  std::shared_ptr<Graveyard> graveyard_ = std::make_shared<Graveyard>();
  struct Published {
    RegionId id;
    std::weak_ptr<Region> region;
  };
  std::map<std::uintptr_t, Published> published_;  // by address
};

// A part of staging memory. Empty: none.
struct Lease {
  RegionPtr region;
  std::uint64_t at = 0;
  std::uint64_t size = 0;
  explicit operator bool() const { return region != nullptr; }
  std::byte* data() const { return region->memory.data() + at; }
};

// Thread safety: none. Invariants: leased parts of a slab do not overlap; the other parts are in
// `free`, with neighbours joined.
class StagePool {
 public:
  explicit StagePool(Regions& regions) : regions_(&regions) {}
  Lease take(std::uint64_t size);  // throws Error
  void give(Lease lease);

 private:
  struct Slab {
    RegionPtr region;
    std::map<std::uint64_t, std::uint64_t> free;  // size by offset
    bool idle() const {
      return free.size() == 1 && free.begin()->second == region->memory.size().value();
    }
  };

  Regions* regions_;
  std::map<RegionId, Slab> slabs_;
  std::uint64_t idle_bytes_ = 0;
};

}  // namespace shoal::shm
