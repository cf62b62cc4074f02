// ShmCarrier: the connections of one node. Made by make_shm_carrier().
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "transport/shm/core.h"
#include "transport/shm/incoming.h"
#include "transport/shm/outgoing.h"

namespace shoal::shm {

// Thread safety: none. Invariants:
// 1. The sink is called only from poll().
// 2. A connection is destroyed only at the end of poll(), because the sink may close it while it
//    delivers.
// 3. A closed or lost incarnation is not admitted again.
class ShmCarrier final : public Carrier, private Poller {
 public:
  ShmCarrier(LiveLoop& loop, ShmOptions options);
  ~ShmCarrier() override;

  const char* name() const override { return "shm"; }
  std::string contact() const override { return contact_; }
  bool reaches(const std::string& contact) const override;
  void open(LifeId self, Sink& sink) override;
  void connect(LifeId peer, const std::string& contact) override;
  void close(LifeId peer) override;
  bool send(Flight& flight) override;
  bool fetch(Parcel& parcel, MutBuf room) override;
  bool stop(Parcel& parcel) override;
  std::optional<ConstBuf> in_place(Parcel& parcel) override;
  std::optional<ConstBuf> glance(const Parcel& parcel) const override;
  void release(Parcel& parcel) override;
  std::shared_ptr<std::byte> allocate(Bytes size) override;

  const ShmStats& stats() const { return core_.stats; }

 private:
  struct Peer {
    std::unique_ptr<Outgoing> out;
    std::unique_ptr<Incoming> in;
  };
  // A connected process that has not proven its identity yet.
  struct Stranger {
    UniqueFd socket;
    Nonce challenge;
    LiveLoop::Timer deadline;
  };
  struct Gone {
    Incarnation incarnation;
    std::string why;
  };

  bool poll() override;
  bool arm() override;
  void flush() override;
  void accept_all();
  void on_hello(int descriptor);
  std::string why_not(const Note& note, const std::vector<UniqueFd>& descriptors,
                      const Stranger& stranger) const;
  void refuse(const UniqueFd& socket, const std::string& why);
  UniqueFd forget_stranger(int descriptor);
  void admit(const Note& hello, UniqueFd socket, std::vector<UniqueFd> descriptors,
             const Nonce& challenge);

  void retry();
  void tell_of_gone_regions();
  bool copy_fetches();
  bool bury();
  bool hand_back();
  void end(LifeId life, Peer& peer, const std::string& why, bool fetches_fail);

  Core core_;
  const std::string host_;
  const std::string socket_name_;
  const std::string contact_;
  UniqueFd listener_;
  bool open_ = false;
  bool listening_ = false;
  bool armed_ = false;
  std::uint64_t sleeps_ = 0;
  std::map<int, Stranger> strangers_;
  std::map<LifeId, Peer> peers_;
  std::map<NodeId, Gone> gone_;
  std::vector<LifeId> unreachable_;  // peers that could not be connected
  std::vector<Peer> ended_;          // ended connections, until the end of poll()
};

}  // namespace shoal::shm
