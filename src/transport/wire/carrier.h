// Carrier: moves framed messages between this node and its peers over one medium: UCX, or the
// memory of one host. The endpoint above it (WireEndpoint) checks, matches and decides.
//
//   sender                                  receiver
//   send(flight)    -- header, payload -->  sink.arrived(parcel)     the payload stays out there
//                                           fetch(parcel, room)      or in_place(parcel)
//                                           sink.fetched(parcel)
//   sink.sent(flight)  <------------------  release(parcel)          or earlier, if it was copied
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/list.h"
#include "base/types.h"
#include "runtime/buffer.h"
#include "runtime/frames.h"
#include "runtime/header.h"
#include "runtime/mailbox.h"

namespace shoal {

class Carrier;

// One life of a node.
struct LifeId {
  NodeId node;
  Incarnation incarnation;
  auto operator<=>(const LifeId&) const = default;
};

// A message on its way out. Header and payload stay where they are until the sink has it back.
struct Flight : ListHook<struct InFlights>, ListHook<struct InCarrier> {
  virtual ~Flight() = default;
  static void* operator new(std::size_t size) { return detail::take_frame(size); }
  static void operator delete(void* flight, std::size_t size) {
    detail::give_back_frame(flight, size);
  }
  LifeId to;
  HeaderBytes header{};
  ConstBuf payload;
  std::uint32_t lane = 0;   // messages of one lane arrive in the order sent
  void* request = nullptr;  // for the carrier

  // For the endpoint.
  Carrier* carrier = nullptr;
  SendOp* op = nullptr;  // null once it was cancelled
  Tag tag;
};

// A message that has come in. It belongs to its carrier, and lives until release().
struct Parcel : Arrival, ListHook<struct InFetches>, ListHook<struct InCarrier> {
  virtual ~Parcel() = default;
  Carrier* carrier = nullptr;
  std::span<const std::byte> header;  // as it came; nobody has checked it
  std::uint64_t payload_size = 0;     // that came with it
  std::uint32_t lane = 0;             // that it came by
  std::optional<LifeId> sender;       // who is at the other end, where the medium knows

  // For the endpoint.
  RecvOp* receive = nullptr;
  std::shared_ptr<std::byte> buffer;  // of a message that is read, and had to be fetched
};

// Thread safety: none; a carrier belongs to the thread of its loop. Invariants:
// 1. The sink is called only from the loop's turn, never from inside a call to the carrier.
// 2. For each flight that send() kept, sent() or failed() is called once, also after close().
//    Then, and not before, the medium has let go of its header and payload.
// 3. For each parcel that fetch() kept, fetched() is called once, unless stop() returned true.
//    Then, and not before, the medium has let go of the room.
class Carrier {
 public:
  class Sink {
   public:
    virtual ~Sink() = default;
    virtual void arrived(Parcel& parcel) = 0;
    virtual void sent(Flight& flight) = 0;
    virtual void failed(Flight& flight, const std::string& why) = 0;
    virtual void fetched(Parcel& parcel, const std::string& error) = 0;  // empty: it is all there
    // The connection to this life of a peer broke. Its flights and fetches end as promised above.
    virtual void lost(LifeId peer, const std::string& why) = 0;
    // The medium itself failed: this life of the node cannot go on.
    virtual void broken(const std::string& why) = 0;
  };

  virtual ~Carrier() = default;
  virtual const char* name() const = 0;  // "ucx", "shm"
  // How a peer's carrier of the same name finds this one: binary. Known before open().
  virtual std::string contact() const = 0;
  // Connections per peer: flights of different lanes may overtake each other.
  virtual std::uint32_t lanes() const { return 1; }
  // Whether a peer with that contact can be reached: the same host, a network in common.
  virtual bool reaches(const std::string& contact) const = 0;

  // From here on messages come and go, as those of `self`.
  virtual void open(LifeId self, Sink& sink) = 0;
  // Prepares to send to a peer, and to notice when it dies, where the medium can.
  // REQUIRES: reaches(contact). Called once for each life, before the first send to it.
  virtual void connect(LifeId peer, const std::string& contact) = 0;
  // Breaks the connection by force: what is in flight to and from the peer ends soon. In vain where
  // there is none.
  virtual void close(LifeId peer) = 0;

  // True: done already, header and payload are free. False: the sink will have it back.
  virtual bool send(Flight& flight) = 0;
  // Copies the payload into the room. True: done. False: the sink will be told.
  // REQUIRES: the payload fits.
  virtual bool fetch(Parcel& parcel, MutBuf room) = 0;
  // Tries to end a fetch early. True: the room is free. False: fetched() will come.
  virtual bool stop(Parcel& parcel) = 0;
  // The payload where it lies, readable until release(); nothing if it has to be fetched first.
  virtual std::optional<ConstBuf> in_place(Parcel& parcel) = 0;
  // The payload where it lies now, for as long as the carrier is not called; nothing where that is
  // no memory to read from yet, or its sender may change it.
  virtual std::optional<ConstBuf> glance(const Parcel& parcel) const {
    (void)parcel;
    return std::nullopt;
  }
  // Ends the parcel; its sender may use the range again. REQUIRES: no fetch is going on.
  virtual void release(Parcel& parcel) = 0;

  // Memory that peers read in place, zeroed; null where the medium has none.
  virtual std::shared_ptr<std::byte> allocate(Bytes size) {
    (void)size;
    return nullptr;
  }
};

}  // namespace shoal
