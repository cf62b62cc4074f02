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

// An incarnation of a node.
struct LifeId {
  NodeId node;
  Incarnation incarnation;
  auto operator<=>(const LifeId&) const = default;
};

// A message to be sent. Header and payload must stay until the sink gets the flight back.
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

// A received message. It belongs to its carrier, and lives until release().
struct Parcel : Arrival, ListHook<struct InFetches>, ListHook<struct InCarrier> {
  virtual ~Parcel() = default;
  Carrier* carrier = nullptr;
  std::span<const std::byte> header;  // as received, unchecked
  std::uint64_t payload_size = 0;     // as received
  std::uint32_t lane = 0;             // that it came by
  std::optional<LifeId> sender;       // the peer, if the medium knows it

  // For the endpoint.
  RecvOp* receive = nullptr;
  std::shared_ptr<std::byte> buffer;  // holds a message that is read in place but had to be fetched
};

// Thread safety: none; a carrier belongs to the thread of its loop. Invariants:
// 1. The sink is called only from the loop's turn, never inside a call to the carrier.
// 2. For each flight that send() kept, sent() or failed() is called once, also after close(). Only
//    then has the medium released its header and payload.
// 3. For each parcel that fetch() kept, fetched() is called once, unless stop() returned true. Only
//    then has the medium released the room.
class Carrier {
 public:
  class Sink {
   public:
    virtual ~Sink() = default;
    virtual void arrived(Parcel& parcel) = 0;
    virtual void sent(Flight& flight) = 0;
    virtual void failed(Flight& flight, const std::string& why) = 0;
    virtual void fetched(Parcel& parcel, const std::string& error) = 0;  // empty: it is complete
    // The connection to this incarnation of a peer broke. Its flights and fetches end as described
    // above.
    virtual void lost(LifeId peer, const std::string& why) = 0;
    // The medium itself failed: this incarnation of the node cannot continue.
    virtual void broken(const std::string& why) = 0;
  };

  virtual ~Carrier() = default;
  virtual const char* name() const = 0;  // "ucx", "shm"
  // Lets a peer's carrier of the same name find this one: binary. Known before open().
  virtual std::string contact() const = 0;
  // Connections per peer: flights of different lanes may overtake each other.
  virtual std::uint32_t lanes() const { return 1; }
  // Whether a peer with that contact can be reached: the same host, or a common network.
  virtual bool reaches(const std::string& contact) const = 0;

  // From now on it sends and receives messages, as `self`.
  virtual void open(LifeId self, Sink& sink) = 0;
  // Prepares to send to a peer, and to notice its death if the medium can. REQUIRES:
  // reaches(contact). Called once for each incarnation, before the first send to it.
  virtual void connect(LifeId peer, const std::string& contact) = 0;
  // Breaks the connection by force: messages in flight to and from the peer end soon. Does nothing
  // if there is none.
  virtual void close(LifeId peer) = 0;

  // True: already done, header and payload are free. False: the sink will get it back.
  virtual bool send(Flight& flight) = 0;
  // Copies the payload into the room. True: done. False: the sink will be told. REQUIRES: the
  // payload fits.
  virtual bool fetch(Parcel& parcel, MutBuf room) = 0;
  // Tries to end a fetch early. True: the room is free. False: fetched() will be called.
  virtual bool stop(Parcel& parcel) = 0;
  // The payload in place, readable until release(); empty if it must be fetched first.
  virtual std::optional<ConstBuf> in_place(Parcel& parcel) = 0;
  // The payload in place, valid until the next call of the carrier; empty if it is not in readable
  // memory yet, or its sender may change it.
  virtual std::optional<ConstBuf> glance(const Parcel& parcel) const {
    (void)parcel;
    return std::nullopt;
  }
  // Ends the parcel; its sender may use the range again. REQUIRES: no fetch is in progress.
  virtual void release(Parcel& parcel) = 0;

  // Zeroed memory that peers read in place; null if the medium has none.
  virtual std::shared_ptr<std::byte> allocate(Bytes size) {
    (void)size;
    return nullptr;
  }
};

}  // namespace shoal
