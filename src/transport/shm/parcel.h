// A message that came through a lane.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/list.h"
#include "runtime/buffer.h"
#include "runtime/frames.h"
#include "transport/shm/memory.h"
#include "transport/wire/carrier.h"

namespace shoal::shm {

class Incoming;
struct InShmParcels;
struct InShmFetches;

struct ShmParcel final : Parcel, ListHook<InShmParcels>, ListHook<InShmFetches> {
  // The place of the payload.
  enum class Place : std::uint8_t {
    Lane,     // in the ring, until arrived() returns
    Own,      // copied from it
    Window,   // in memory of its sender
    Offered,  // in no memory that we see; it must be wanted
    Wanted,   // the same, and its sender knows
  };

  static void* operator new(std::size_t size) { return detail::take_frame(size); }
  static void operator delete(void* parcel, std::size_t size) {
    detail::give_back_frame(parcel, size);
  }

  bool being_fetched() const { return ListHook<InShmFetches>::linked(); }
  bool there() const { return place != Place::Offered && place != Place::Wanted; }

  Place place = Place::Lane;
  HeaderBytes header_copy;
  Incoming* incoming = nullptr;              // null once the connection is closed
  std::uint64_t number = 0;                  // for its release; 0: its sender does not wait
  std::shared_ptr<const PeerMemory> lane;    // of Window: tells whether the sender has released it
  std::shared_ptr<const PeerMemory> memory;  // keeps the payload mapped
  const std::byte* payload = nullptr;
  std::vector<std::byte> own;

  // Whether a fetch is in progress.
  bool fetching = false;
  MutBuf room;
  std::uint64_t copied = 0;
  std::string failure;
};

}  // namespace shoal::shm
