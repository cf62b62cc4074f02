#include "transport/shm/carrier_impl.h"

#include <fmt/core.h>
#include <unistd.h>

#include <utility>

#include "base/check.h"
#include "base/error.h"

namespace shoal {
namespace shm {
namespace {

const ShmOptions& checked(const ShmOptions& o) {
  const auto require = [](bool good, const char* what, std::size_t value, const char* must) {
    if (!good)
      throw ConfigError(fmt::format("shared memory: {} is {}, but must be {}", what, value, must));
  };
  require(o.key.empty() || o.key.size() == 32, "size of the key", o.key.size(), "32 bytes");
  require(o.host.size() < 256, "length of the host's name", o.host.size(), "below 256");
  require(power_of_two_up_to(o.slots, kSlotsMax), "slots", o.slots, "a power of two up to 2^20");
  require(power_of_two_up_to(o.ack_slots, kSlotsMax), "ack_slots", o.ack_slots,
          "a power of two up to 2^20");
  require(power_of_two_up_to(o.eager_ring, kEagerRingMax), "eager_ring", o.eager_ring,
          "a power of two up to 2^30");
  require(o.eager_ring >= 2 * kLine, "eager_ring", o.eager_ring, "at least two cache lines");
  require(o.eager_max <= o.eager_ring / 2, "eager_max", o.eager_max, "at most half of eager_ring");
  return o;
}

ShmParcel& own(Parcel& parcel) { return static_cast<ShmParcel&>(parcel); }

}  // namespace

ShmCarrier::ShmCarrier(LiveLoop& loop, ShmOptions options)
    : core_(loop, checked(options)),
      host_(core_.options.host.empty() ? this_host() : core_.options.host),
      socket_name_(fresh_socket_name()),
      contact_(encode_address({host_, socket_name_})),
      listener_(listen_at(socket_name_)) {
  core_.carrier = this;
}

ShmCarrier::~ShmCarrier() {
  if (open_) {
    core_.loop->remove_poller(*this);
    core_.loop->unwatch(core_.doorbell.get());
  }
  if (listening_) core_.loop->unwatch(listener_.get());
  while (!strangers_.empty()) forget_stranger(strangers_.begin()->first);
  peers_.clear();
  ended_.clear();
  while (!core_.fetches.empty()) core_.fetches.pop_front();
  while (!core_.parcels.empty()) delete &core_.parcels.pop_front();
}

bool ShmCarrier::reaches(const std::string& contact) const {
  const std::optional<Address> other = decode_address(contact);
  return other && other->host == host_;
}

void ShmCarrier::open(LifeId self, Sink& sink) {
  SHOAL_CHECK(!open_);
  open_ = true;
  core_.self = self;
  core_.sink = &sink;
  core_.loop->watch(core_.doorbell.get(), [this] {
    std::uint64_t count = 0;
    // It only wakes the loop; poll() finds the work.
    [[maybe_unused]] const ssize_t n = read(core_.doorbell.get(), &count, sizeof count);
  });
  core_.loop->watch(listener_.get(), [this] { accept_all(); });
  listening_ = true;
  core_.loop->add_poller(*this, core_.options.spin);
}

void ShmCarrier::connect(LifeId peer, const std::string& contact) {
  SHOAL_CHECK(open_ && reaches(contact));
  Peer& p = peers_[peer];
  SHOAL_CHECK(p.out == nullptr, "node {} was connected twice", peer.node);
  try {
    p.out = std::make_unique<Outgoing>(core_, peer, decode_address(contact)->socket);
  } catch (const Error& e) {
    // As if it had been lost at once, but reported later.
    gone_[peer.node] = {peer.incarnation, e.what()};
    unreachable_.push_back(peer);
    core_.news = true;
  }
}

bool ShmCarrier::send(Flight& flight) {
  const auto it = peers_.find(flight.to);
  if (it != peers_.end() && it->second.out != nullptr) return it->second.out->send(flight);
  const auto gone = gone_.find(flight.to.node);
  SHOAL_CHECK(gone != gone_.end() && gone->second.incarnation >= flight.to.incarnation,
              "node {} was never connected", flight.to.node);
  core_.ended.push_back({&flight, gone->second.why});
  return false;
}

// ---- Parcels

bool ShmCarrier::fetch(Parcel& parcel, MutBuf room) {
  ShmParcel& p = own(parcel);
  SHOAL_CHECK(!p.fetching && p.payload_size <= room.size.value());
  p.room = room;
  p.copied = 0;
  const bool nothing = p.payload_size == 0 || room.data == nullptr;
  if (p.place == ShmParcel::Place::Lane || p.place == ShmParcel::Place::Own || nothing) {
    if (!nothing) std::memcpy(room.data, p.payload, p.payload_size);
    return true;
  }
  p.fetching = true;
  if (p.there()) {
    const bool at_once = p.payload_size <= core_.copy_budget &&
                         core_.copy_some(p.payload, room.data, p.payload_size, p.copied);
    if (at_once && core_.was_valid(p)) {
      p.fetching = false;
      return true;
    }
    core_.fetches.push_back(p);
  } else if (p.incoming == nullptr) {
    p.failure = "its sender has ended, and its payload is lost";
    core_.fetches.push_back(p);
  } else if (p.place == ShmParcel::Place::Offered) {
    p.incoming->want(p);
  }
  return false;
}

bool ShmCarrier::stop(Parcel& parcel) {
  ShmParcel& p = own(parcel);
  static_cast<ListHook<InShmFetches>&>(p).unlink();
  p.fetching = false;
  p.failure.clear();
  return true;
}

std::optional<ConstBuf> ShmCarrier::in_place(Parcel& parcel) {
  ShmParcel& p = own(parcel);
  if (!p.there()) return std::nullopt;
  Incoming::copy_out(p);  // frees its place in the ring
  return ConstBuf{p.payload, Bytes(p.payload_size)};
}

std::optional<ConstBuf> ShmCarrier::glance(const Parcel& parcel) const {
  const auto& p = static_cast<const ShmParcel&>(parcel);
  if (p.place != ShmParcel::Place::Lane && p.place != ShmParcel::Place::Own) return std::nullopt;
  return ConstBuf{p.payload, Bytes(p.payload_size)};
}

void ShmCarrier::release(Parcel& parcel) {
  ShmParcel& p = own(parcel);
  SHOAL_CHECK(!p.fetching, "a parcel was released while it was fetched");
  if (p.incoming != nullptr) p.incoming->release(p);
  static_cast<ListHook<InShmParcels>&>(p).unlink();
  delete &p;
}

std::shared_ptr<std::byte> ShmCarrier::allocate(Bytes size) {
  const RegionPtr region = core_.regions.make(size);
  core_.regions.publish(region);
  return {region, region->memory.data()};
}

// A slice per turn; waiting fetches take turns.
bool ShmCarrier::copy_fetches() {
  bool moved = false;
  while (!core_.fetches.empty() &&
         (core_.copy_budget > 0 || !core_.fetches.front().failure.empty())) {
    ShmParcel& p = core_.fetches.pop_front();
    moved = true;
    if (p.failure.empty() && !core_.copy_some(p.payload, p.room.data, p.payload_size, p.copied)) {
      core_.fetches.push_back(p);
      break;
    }
    if (p.failure.empty() && !core_.was_valid(p))
      p.failure = "its sender closed the connection, and may have changed the payload meanwhile";
    p.fetching = false;
    const std::string failure = std::exchange(p.failure, {});
    core_.sink->fetched(p, failure);
  }
  return moved;
}

// ---- The loop's turn

bool ShmCarrier::poll() {
  core_.copy_budget = kSlice;
  if (std::exchange(armed_, false)) {
    for (auto& [life, peer] : peers_) {
      if (peer.in != nullptr) peer.in->disarm();
      if (peer.out != nullptr) peer.out->disarm();
    }
  }
  if (core_.retry_due) retry();
  if (core_.regions.any_gone()) tell_of_gone_regions();
  bool moved = false;
  // The sink may connect and close peers meanwhile; entries are erased below, not here.
  for (auto& [life, peer] : peers_) {
    if (peer.in != nullptr) moved |= peer.in->poll();
    if (peer.out != nullptr) moved |= peer.out->poll();
  }
  if (!core_.fetches.empty()) moved |= copy_fetches();
  if (core_.news) moved |= bury();
  if (!core_.ended.empty()) moved |= hand_back();
  flush();
  if (!ended_.empty()) {
    ended_.clear();
    std::erase_if(peers_,
                  [](const auto& p) { return p.second.in == nullptr && p.second.out == nullptr; });
  }
  return moved;
}

void ShmCarrier::flush() {
  if (!std::exchange(core_.counted, false)) return;
  core_.fence();
  for (auto& [life, peer] : peers_) {
    if (peer.in != nullptr) peer.in->wake();
    if (peer.out != nullptr) peer.out->wake();
  }
}

bool ShmCarrier::arm() {
  if (core_.news || core_.retry_due || !core_.ended.empty() || !core_.fetches.empty() ||
      !ended_.empty())
    return false;
  armed_ = true;
  ++sleeps_;
  for (auto& [life, peer] : peers_) {
    if (peer.in != nullptr) peer.in->arm(sleeps_);
    if (peer.out != nullptr) peer.out->arm(sleeps_);
  }
  for (auto& [life, peer] : peers_) {
    if (peer.in != nullptr && peer.in->has_news()) return false;
    if (peer.out != nullptr && peer.out->has_news()) return false;
  }
  return true;
}

void ShmCarrier::retry() {
  core_.retry_due = false;
  if (!listening_) {
    listening_ = true;
    core_.loop->watch(listener_.get(), [this] { accept_all(); });
  }
  for (auto& [life, peer] : peers_)
    if (peer.out != nullptr) peer.out->retry();
}

void ShmCarrier::tell_of_gone_regions() {
  for (const RegionId region : core_.regions.take_gone())
    for (auto& [life, peer] : peers_)
      if (peer.out != nullptr) peer.out->forget(region);
}

bool ShmCarrier::hand_back() {
  // The sink may send again, and such a send may complete at once: it is reported in the next turn.
  for (const Core::Ended& e : std::exchange(core_.ended, {})) {
    if (e.failure.empty())
      core_.sink->sent(*e.flight);
    else
      core_.sink->failed(*e.flight, e.failure);
  }
  return true;
}

// ---- The end of a peer

bool ShmCarrier::bury() {
  core_.news = false;
  bool moved = !unreachable_.empty();
  for (const LifeId life : std::exchange(unreachable_, {}))
    core_.sink->lost(life, gone_[life.node].why);
  for (auto& [life, peer] : peers_) {
    const bool in_broken = peer.in != nullptr && !peer.in->broken().empty();
    const bool out_broken = peer.out != nullptr && !peer.out->broken().empty();
    if (!in_broken && !out_broken) continue;
    // Messages that it had published before its end still arrive.
    if (peer.in != nullptr && !peer.in->drained()) {
      core_.news = true;
      continue;
    }
    const std::string why = in_broken ? peer.in->broken() : peer.out->broken();
    end(life, peer, why, false);
    core_.sink->lost(life, why);
    moved = true;
  }
  return moved;
}

void ShmCarrier::end(LifeId life, Peer& peer, const std::string& why, bool fetches_fail) {
  Gone& gone = gone_[life.node];
  if (gone.why.empty() || gone.incarnation < life.incarnation) gone = {life.incarnation, why};
  if (peer.out != nullptr) peer.out->close(why);
  if (peer.in != nullptr) peer.in->close(why, fetches_fail);
  ended_.push_back({std::move(peer.out), std::move(peer.in)});
}

void ShmCarrier::close(LifeId life) {
  const std::string why = fmt::format("the connection to node {} was closed here", life.node);
  const auto it = peers_.find(life);
  if (it != peers_.end()) {
    end(life, it->second, why, true);
  } else if (Gone& gone = gone_[life.node];
             gone.incarnation < life.incarnation || gone.why.empty()) {
    gone = {life.incarnation, why};
  }
  // Also fetches that continued after the peer was lost.
  core_.parcels.each([&](ShmParcel& p) {
    if (p.fetching && p.sender == life) p.failure = why;
  });
}

}  // namespace shm

std::unique_ptr<Carrier> make_shm_carrier(LiveLoop& loop, ShmOptions options) {
  return std::make_unique<shm::ShmCarrier>(loop, std::move(options));
}

ShmStats shm_stats(const Carrier& carrier) {
  return static_cast<const shm::ShmCarrier&>(carrier).stats();
}

}  // namespace shoal
