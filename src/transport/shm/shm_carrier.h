// The carrier between processes of one host: messages go through memory that each process shares
// read-only with the others.
//
//   ShmOptions options;
//   options.key = secret;                                  // 32 bytes, the same in the whole job
//   std::unique_ptr<Carrier> carrier = make_shm_carrier(loop, options);
//   carrier->open(self, sink);
//   if (carrier->reaches(contact)) carrier->connect(peer, contact);
//   std::shared_ptr<std::byte> weights = carrier->allocate(Bytes(64 << 20));  // sent without copy
//
// The path of a payload depends on its place:
//
//   small (eager_max)       copied into the lane; send() is done
//   in memory of allocate() stays; the peer reads it there; done when the peer has released it
//   elsewhere               copied into staging memory; beyond stage_max per peer the message is
//                           only offered, and its payload staged when the peer asks for it
//
// Two incarnations have a connection for each direction that is used: a Unix socket over which both
// prove their identity and pass each other their memory. The end of the socket is the end of the
// peer. No file, socket or segment has a name in a file system, so nothing can be left behind.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "base/types.h"
#include "runtime/live/loop.h"
#include "transport/wire/carrier.h"

namespace shoal {

struct ShmOptions {
  std::string key{};   // 32 bytes that every process of the job has; empty: all processes of our
                       // user may connect
  std::string host{};  // for tests: replaces this machine's identity
  Duration spin = std::chrono::microseconds(20);  // before each sleep, see LiveLoop::add_poller

  std::uint32_t slots = 512;              // unread messages in a lane
  std::uint32_t eager_ring = 256 * 1024;  // bytes of small payloads in a lane
  std::uint32_t eager_max = 8 * 1024;     // larger payloads do not go through the lane
  std::uint32_t ack_slots = 1024;
  std::uint64_t stage_max = 64U << 20U;  // bytes staged for a peer that has not asked for them
};

// Statistics of a carrier, for tests and reports.
struct ShmStats {
  std::uint64_t eager = 0;
  std::uint64_t in_window = 0;
  std::uint64_t staged = 0;
  std::uint64_t offered = 0;
  std::uint64_t queued = 0;   // sends that found the lane full, or were copied in slices
  std::uint64_t rings = 0;    // times that a sleeping peer's doorbell was rung
  std::uint64_t refused = 0;  // connections of foreign processes
};

// Throws ConfigError for invalid options, Error if the system has no memory or socket. The loop
// must outlive the carrier; memory from allocate() may outlive both.
std::unique_ptr<Carrier> make_shm_carrier(LiveLoop& loop, ShmOptions options);
// REQUIRES: the carrier was made by make_shm_carrier().
ShmStats shm_stats(const Carrier& carrier);

}  // namespace shoal
