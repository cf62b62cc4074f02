#include "transport/shm/incoming.h"

#include <fmt/core.h>

#include <cstring>
#include <new>
#include <utility>

#include "base/check.h"
#include "base/error.h"

namespace shoal::shm {
namespace {

// Messages of a peer per turn, so that other peers get their turn.
constexpr int kMessagesPerTurn = 64;
constexpr std::size_t kRegionsMax = 16 * 1024;

// Fetches its lines from the sender's cache while the message is checked and matched.
void prefetch(const std::byte* payload, std::uint64_t size) {
  for (std::uint64_t at = 0; at < size; at += kLine) __builtin_prefetch(payload + at);
}

}  // namespace

Incoming::Incoming(Core& core, LifeId peer, UniqueFd&& socket, const UniqueFd& lane, UniqueFd bell)
    : core_(&core),
      peer_(peer),
      lane_(std::make_shared<const PeerMemory>(lane, "lane")),
      memory_("shoal-answers", Bytes(answers_size(core.options.ack_slots))),
      bell_(std::move(bell)) {
  const Bytes size = lane_->size();
  if (size < Bytes(sizeof(LaneHead))) throw Corrupt("corrupt lane: too small for its head");
  shape_ = load_once<Shape>(lane_->data());
  if (shape_.magic != kLaneMagic || shape_.version != kShmVersion ||
      !power_of_two_up_to(shape_.slots, kSlotsMax) ||
      !power_of_two_up_to(shape_.eager_ring, kEagerRingMax) ||
      size < Bytes(lane_size(shape_.slots, shape_.eager_ring)))
    throw Corrupt(
        fmt::format("corrupt lane: magic {:#x}, version {}, {} slots, {} eager bytes in {}",
                    shape_.magic, shape_.version, shape_.slots, shape_.eager_ring, size));
  auto* head = new (memory_.data()) AnswerHead{};
  head->shape = {kAnswerMagic, kShmVersion, core.options.ack_slots, 0};
  socket_ = std::move(socket);
  pid_ = other_end(socket_).pid;
  core_->loop->watch(socket_.get(), [this] { on_readable(); });
}

Incoming::~Incoming() {
  if (!closed_) close("closed", true);
}

void Incoming::fail(std::string why) {
  if (!broken_.empty()) return;
  broken_ = std::move(why);
  core_->news = true;
}

void Incoming::corrupt(const std::string& what) {
  corrupt_ = true;
  broken_.clear();  // corruption says more than an end
  fail(fmt::format("corrupt lane: {}", what));
}

bool Incoming::drained() const {
  return corrupt_ || lane().published.load(std::memory_order_acquire) == taken_;
}

// ---- The socket

void Incoming::on_readable() {
  while (broken_.empty()) {
    ReceivedNote received = receive_note(socket_);
    if (received.got == Got::Nothing) return;
    if (received.got == Got::End) return fail(fmt::format("{} (pid {})", received.why, pid_));
    if (received.got == Got::Nonsense) return corrupt(received.why);
    const Note& note = received.note;
    if (note.kind == NoteKind::Region && received.descriptors.size() == 1)
      on_region(static_cast<RegionId>(note.region), received.descriptors[0]);
    else if (note.kind == NoteKind::Gone)
      regions_.erase(static_cast<RegionId>(note.region));
    else
      return corrupt(
          fmt::format("a note of kind {} out of turn", static_cast<unsigned>(note.kind)));
  }
}

void Incoming::on_region(RegionId id, const UniqueFd& descriptor) {
  if (regions_.size() >= kRegionsMax || regions_.contains(id))
    return corrupt(fmt::format("region {} is one too many of {}", id, regions_.size()));
  try {
    regions_[id] = std::make_shared<const PeerMemory>(descriptor, fmt::format("region {}", id));
  } catch (const Corrupt& e) {
    regions_.erase(id);
    corrupt(e.what());
  }
}

// ---- From the lane

bool Incoming::poll() {
  bool moved = !unanswered_.empty() && flush_answers();
  const std::uint64_t published = lane().published.load(std::memory_order_acquire);
  if (published == taken_ || corrupt_) return moved;
  if (published - taken_ > shape_.slots) {
    corrupt(fmt::format("{} messages published, {} taken, room for {}", published, taken_,
                        shape_.slots));
    return true;
  }
  const std::byte* slots = lane_->data() + sizeof(LaneHead);
  for (int i = 0; i < kMessagesPerTurn && taken_ != published; ++i) {
    const std::uint64_t slot = taken_ & (shape_.slots - 1);
    take(load_once<Descriptor>(slots + slot * sizeof(Descriptor)));
    if (closed_ || corrupt_) return true;
    ++taken_;
  }
  answers().taken.store(taken_, std::memory_order_release);
  counted(kWakeForRoom);
  return true;
}

void Incoming::take(const Descriptor& d) {
  if (d.size > kMessageSizeMax.value())
    return corrupt(
        fmt::format("a payload of {} bytes is more than the {} allowed", d.size, kMessageSizeMax));
  switch (d.kind) {
    case Kind::Eager: return take_eager(d);
    case Kind::Window: return take_window(d);
    case Kind::Staged: return take_staged(d);
    case Kind::Offer: {
      if (offers_.contains(d.number))
        return corrupt(fmt::format("message {} is offered twice", d.number));
      ShmParcel& parcel = make_parcel(d, ShmParcel::Place::Offered);
      offers_[d.number] = &parcel;
      return core_->sink->arrived(parcel);
    }
  }
  corrupt(fmt::format("a message of kind {}", static_cast<std::uint32_t>(d.kind)));
}

void Incoming::take_eager(const Descriptor& d) {
  if (d.size > shape_.eager_ring || d.at > shape_.eager_ring - d.size)
    return corrupt(fmt::format("{} eager bytes at {} of {}", d.size, d.at, shape_.eager_ring));
  ShmParcel& parcel = make_parcel(d, ShmParcel::Place::Lane);
  parcel.number = 0;
  parcel.payload = lane_->data() + lane_size(shape_.slots, 0) + d.at;
  prefetch(parcel.payload, d.size);
  arriving_ = &parcel;
  core_->sink->arrived(parcel);
  // The receiver has not taken it, so it must leave its place in the ring.
  if (std::exchange(arriving_, nullptr) != nullptr) copy_out(parcel);
}

void Incoming::take_window(const Descriptor& d) {
  std::shared_ptr<const PeerMemory> memory = region_of(d);
  if (memory == nullptr) return;
  ShmParcel& parcel = make_parcel(d, ShmParcel::Place::Window);
  parcel.lane = lane_;
  parcel.payload = memory->data() + d.at;
  parcel.memory = std::move(memory);
  core_->sink->arrived(parcel);
}

void Incoming::take_staged(const Descriptor& d) {
  const auto it = offers_.find(d.number);
  if (it == offers_.end())
    return corrupt(fmt::format("message {} is staged, but was not wanted", d.number));
  ShmParcel* parcel = it->second;
  if (parcel == nullptr) {
    offers_.erase(it);
    return answer(d.number, kReleased);
  }
  if (parcel->place != ShmParcel::Place::Wanted || d.size != parcel->payload_size)
    return corrupt(fmt::format("message {} of {} bytes is staged with {}, or was not wanted",
                               d.number, parcel->payload_size, d.size));
  std::shared_ptr<const PeerMemory> memory = region_of(d);
  if (memory == nullptr) return;
  offers_.erase(it);
  parcel->payload = memory->data() + d.at;
  parcel->memory = std::move(memory);
  parcel->place = ShmParcel::Place::Window;
  parcel->lane = lane_;
  if (parcel->fetching) core_->fetches.push_back(*parcel);
}

// The memory that contains the payload; null if there is none, and the peer is corrupt.
std::shared_ptr<const PeerMemory> Incoming::region_of(const Descriptor& d) {
  auto it = regions_.find(d.region);
  if (it == regions_.end()) {
    // Its announcement was sent before the message, so it is in the socket.
    on_readable();
    it = regions_.find(d.region);
  }
  if (corrupt_) return nullptr;
  if (it != regions_.end() && it->second->holds(d.at, d.size)) return it->second;
  corrupt(it == regions_.end()
              ? fmt::format("a payload in region {}, which was not announced", d.region)
              : fmt::format("{} bytes at {} of region {}, which has {}", d.size, d.at, d.region,
                            it->second->size()));
  return nullptr;
}

ShmParcel& Incoming::make_parcel(const Descriptor& d, ShmParcel::Place place) {
  auto* parcel = new ShmParcel;  // deleted in the carrier's release()
  parcel->carrier = core_->carrier;
  parcel->header_copy = d.header;
  parcel->header = parcel->header_copy;
  parcel->payload_size = d.size;
  parcel->sender = peer_;
  parcel->place = place;
  parcel->incoming = this;
  parcel->number = d.number;
  core_->parcels.push_back(*parcel);
  return *parcel;
}

void Incoming::copy_out(ShmParcel& parcel) {
  if (parcel.place != ShmParcel::Place::Lane) return;
  parcel.own.assign(parcel.payload, parcel.payload + parcel.payload_size);
  parcel.payload = parcel.own.data();
  parcel.place = ShmParcel::Place::Own;
}

// ---- Answers

void Incoming::want(ShmParcel& parcel) {
  parcel.place = ShmParcel::Place::Wanted;
  answer(parcel.number, kWanted);
}

void Incoming::release(ShmParcel& parcel) {
  if (arriving_ == &parcel) arriving_ = nullptr;
  if (parcel.number == 0) return;
  if (parcel.place == ShmParcel::Place::Wanted) {
    offers_[parcel.number] = nullptr;
    return;
  }
  if (parcel.place == ShmParcel::Place::Offered) offers_.erase(parcel.number);
  answer(parcel.number, kReleased);
}

void Incoming::answer(std::uint64_t number, std::uint64_t what) {
  unanswered_.push_back(number << 1U | what);
  flush_answers();
}

bool Incoming::flush_answers() {
  const std::uint32_t slots = core_->options.ack_slots;
  const std::uint64_t seen = lane().answers_taken.load(std::memory_order_seq_cst);
  if (answered_ - seen > slots) {
    corrupt(fmt::format("{} answers taken of {}", seen, answered_));
    unanswered_.clear();
    return true;
  }
  room_seen_ = seen;
  const std::uint64_t before = answered_;
  while (!unanswered_.empty() && answered_ - seen < slots) {
    const std::uint64_t slot = answered_++ & (slots - 1);
    std::memcpy(memory_.data() + sizeof(AnswerHead) + 8 * slot, &unanswered_.front(), 8);
    unanswered_.pop_front();
  }
  if (answered_ == before) return false;
  answers().answered.store(answered_, std::memory_order_release);
  counted(kWakeForNews);
  return true;
}

void Incoming::counted(std::uint64_t what) {
  ring_for(what);
  counted_ |= what;
  core_->counted = true;
}

void Incoming::wake() {
  if (counted_ != 0 && !closed_) ring_for(std::exchange(counted_, 0));
}

void Incoming::ring_for(std::uint64_t what) {
  const std::uint64_t asleep = lane().asleep.load(std::memory_order_relaxed);
  if ((asleep & what) == 0 || asleep == rung_) return;
  rung_ = asleep;
  ++core_->stats.rings;
  ring(bell_);
}

// ---- Sleep and end

void Incoming::arm(std::uint64_t sleep) {
  const std::uint64_t what = kWakeForNews | (unanswered_.empty() ? 0 : kWakeForRoom);
  answers().asleep.store(sleep << kSleepShift | what, std::memory_order_seq_cst);
}

void Incoming::disarm() { answers().asleep.store(0, std::memory_order_relaxed); }

bool Incoming::has_news() const {
  if (corrupt_) return false;
  if (lane().published.load(std::memory_order_seq_cst) != taken_) return true;
  return !unanswered_.empty() && lane().answers_taken.load(std::memory_order_seq_cst) != room_seen_;
}

void Incoming::close(const std::string& why, bool fetches_fail) {
  closed_ = true;
  core_->loop->unwatch(socket_.get());
  socket_.reset();
  if (arriving_ != nullptr) copy_out(*std::exchange(arriving_, nullptr));
  core_->parcels.each([&](ShmParcel& parcel) {
    if (parcel.incoming != this) return;
    parcel.incoming = nullptr;
    if (!parcel.fetching) return;
    if (parcel.there() && !fetches_fail) return;
    parcel.failure = why;
    if (!parcel.being_fetched()) core_->fetches.push_back(parcel);
  });
}

}  // namespace shoal::shm
