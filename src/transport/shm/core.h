// State shared by the connections of one carrier.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/list.h"
#include "base/stream_copy.h"
#include "runtime/live/loop.h"
#include "transport/shm/layout.h"
#include "transport/shm/memory.h"
#include "transport/shm/note.h"
#include "transport/shm/parcel.h"
#include "transport/shm/region.h"
#include "transport/shm/shm_carrier.h"

namespace shoal::shm {

// The loop runs its other nodes and timers between two slices of copying.
inline constexpr std::uint64_t kSlice = 256 * 1024;

// Thread safety: none; it belongs to the carrier's thread.
struct Core {
  Core(LiveLoop& l, ShmOptions o) : loop(&l), options(std::move(o)), doorbell(make_doorbell()) {}
  ~Core() {
    if (retry != nullptr) loop->cancel(retry);
  }
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  struct Ended {
    Flight* flight;
    std::string failure;  // empty: it was sent
  };

  // Retries soon what the system refused for now.
  void retry_soon() {
    if (retry != nullptr) return;
    retry = loop->at(loop->now() + std::chrono::milliseconds(1), [this] {
      retry = nullptr;
      retry_due = true;
    });
  }
  // Copies the next bytes, as many as this turn allows. True when all are copied.
  bool copy_some(const std::byte* from, std::byte* to, std::uint64_t size, std::uint64_t& copied) {
    const std::uint64_t n = std::min(size - copied, copy_budget);
    copy_slice(to + copied, from + copied, n, size);
    copied += n;
    copy_budget -= n;
    return copied == size;
  }

  // Whether a payload that was just read completely was unchanged by its sender.
  bool was_valid(const ShmParcel& parcel) {
    if (parcel.place != ShmParcel::Place::Window) return true;
    fence();  // the payload is read before let_go
    const auto* head = reinterpret_cast<const LaneHead*>(parcel.lane->data());
    return head->let_go.load(std::memory_order_seq_cst) == 0;
  }

  void fence() {
#if defined(__SANITIZE_THREAD__)
    order.exchange(0, std::memory_order_seq_cst);  // the thread sanitizer does not know fences
#else
    std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
  }

  LiveLoop* const loop;
  const ShmOptions options;
  const UniqueFd doorbell;  // peers ring it while we sleep
  Carrier* carrier = nullptr;
  Carrier::Sink* sink = nullptr;
  LifeId self;
  Regions regions;
  StagePool pool{regions};
  std::vector<Ended> ended;               // flights to return at the end of the turn
  List<ShmParcel, InShmParcels> parcels;  // all unreleased ones
  List<ShmParcel, InShmFetches> fetches;  // being copied, or failed
  std::uint64_t copy_budget = kSlice;     // of this turn
  bool news = false;                      // a connection broke
  bool counted = false;                   // a counter was increased, see layout.h
  bool retry_due = false;
  LiveLoop::Timer retry = nullptr;
  ShmStats stats;
  std::atomic<int> order = 0;
};

}  // namespace shoal::shm
