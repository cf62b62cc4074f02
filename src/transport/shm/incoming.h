// The direction from an incarnation of a peer: its lane, which we read, and the answers that we
// write.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "transport/shm/core.h"
#include "transport/shm/layout.h"
#include "transport/shm/parcel.h"

namespace shoal::shm {

// Thread safety: none. Invariants:
// 1. Whatever the peer writes, we read only inside its memory, and use only checked values.
// 2. A message leaves the lane when it has arrived, matched or not.
// 3. A wanted message is released only after its payload was staged, so that the peer never refers
//    to a message that we have forgotten.
class Incoming {
 public:
  // The peer has proven its identity. Throws Corrupt if its lane is malformed, and then leaves the
  // socket to the caller.
  Incoming(Core& core, LifeId peer, UniqueFd&& socket, const UniqueFd& lane, UniqueFd bell);
  ~Incoming();
  Incoming(const Incoming&) = delete;
  Incoming& operator=(const Incoming&) = delete;

  int answers_descriptor() const { return memory_.descriptor(); }
  const UniqueFd& socket() const { return socket_; }

  bool poll();
  void arm(std::uint64_t sleep);
  void disarm();
  bool has_news() const;  // after arm(): an event came meanwhile
  void wake();            // wakes the peer if a counter affects it; call it after a fence

  void want(ShmParcel& parcel);
  void release(ShmParcel& parcel);
  static void copy_out(ShmParcel& parcel);  // copies it out of the lane, if it is there

  const std::string& broken() const { return broken_; }
  // No more messages follow: all that were published before the connection broke have arrived, or
  // it is corrupt.
  bool drained() const;
  // Parcels stay; fetches continue if the payload is there, unless `fetches_fail`.
  void close(const std::string& why, bool fetches_fail);

 private:
  const LaneHead& lane() const { return *reinterpret_cast<const LaneHead*>(lane_->data()); }
  AnswerHead& answers() const { return *reinterpret_cast<AnswerHead*>(memory_.data()); }
  void fail(std::string why);
  void corrupt(const std::string& what);
  void on_readable();
  void on_region(RegionId id, const UniqueFd& descriptor);

  void take(const Descriptor& descriptor);
  void take_eager(const Descriptor& descriptor);
  void take_window(const Descriptor& descriptor);
  void take_staged(const Descriptor& descriptor);
  std::shared_ptr<const PeerMemory> region_of(const Descriptor& descriptor);
  ShmParcel& make_parcel(const Descriptor& descriptor, ShmParcel::Place place);
  void answer(std::uint64_t number, std::uint64_t what);
  bool flush_answers();
  void counted(std::uint64_t what);
  void ring_for(std::uint64_t what);

  Core* core_;
  const LifeId peer_;
  UniqueFd socket_;
  int pid_ = 0;
  std::string broken_;
  bool corrupt_ = false;
  bool closed_ = false;

  std::shared_ptr<const PeerMemory> lane_;
  Shape shape_{};
  OwnMemory memory_;
  UniqueFd bell_;

  std::uint64_t taken_ = 0;
  std::uint64_t answered_ = 0;
  std::deque<std::uint64_t> unanswered_;  // answers without room yet
  std::uint64_t room_seen_ = 0;           // lane().answers_taken when there was no room
  std::uint64_t rung_ = 0;                // the last sleep for which we rang
  std::uint64_t counted_ = 0;             // flags for the peer's counters, in case it sleeps unseen

  ShmParcel* arriving_ = nullptr;  // the one whose arrived() has not returned yet
  std::map<RegionId, std::shared_ptr<const PeerMemory>> regions_;
  std::map<std::uint64_t, ShmParcel*> offers_;  // not staged yet; null: wanted, then released
};

}  // namespace shoal::shm
