#include "transport/shm/outgoing.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/error.h"

namespace shoal::shm {
namespace {

Descriptor describe(const Flight& flight, Kind kind) {
  return {.header = flight.header,
          .size = flight.payload.size.value(),
          .number = 0,
          .at = 0,
          .region = 0,
          .kind = kind,
          .unused = {}};
}

}  // namespace

bool Outgoing::send(Flight& flight) {
  SHOAL_CHECK(!flight.payload.phantom(), "a phantom cannot be sent between processes");
  if (state_ == State::Open && broken_.empty() && queue_.empty()) {
    const Step step = place(flight);
    if (step == Step::Done) return true;
    if (step == Step::Kept) return false;
  }
  ++core_->stats.queued;
  queue_.push_back(&flight);
  return false;
}

bool Outgoing::poll() {
  if (state_ != State::Open || !broken_.empty()) return false;
  if (flights_.empty() && queue_.empty()) return false;
  bool moved = take_answers();
  if (!queue_.empty() || !wanted_.empty()) moved |= pump();
  return moved;
}

void Outgoing::arm(std::uint64_t sleep) {
  if (state_ != State::Open) return;
  std::uint64_t what = 0;
  if (!flights_.empty()) what |= kWakeForNews;
  if (blocked_ == Blocked::ByRoom && !(queue_.empty() && wanted_.empty())) what |= kWakeForRoom;
  if (what != 0) lane().asleep.store(sleep << kSleepShift | what, std::memory_order_seq_cst);
}

void Outgoing::disarm() { lane().asleep.store(0, std::memory_order_relaxed); }

bool Outgoing::has_news() const {
  if (state_ != State::Open || (flights_.empty() && queue_.empty())) return false;
  if (answers().answered.load(std::memory_order_seq_cst) != answers_taken_) return true;
  if (queue_.empty() && wanted_.empty()) return false;
  if (blocked_ == Blocked::No) return true;
  return blocked_ == Blocked::ByRoom && answers().taken.load(std::memory_order_seq_cst) != taken_;
}

bool Outgoing::pump() {
  bool moved = false;
  blocked_ = Blocked::No;
  // First the payloads for which a receive waits.
  while (!wanted_.empty() && broken_.empty()) {
    const Step step = stage_wanted(wanted_.front());
    if (step == Step::Copying) return true;
    if (step == Step::Blocked) break;
    wanted_.pop_front();
    moved = true;
  }
  while (!queue_.empty() && broken_.empty()) {
    Flight& flight = *queue_.front();
    const Step step = place(flight);
    if (step == Step::Copying) return true;
    if (step == Step::Blocked) break;
    queue_.pop_front();
    if (step == Step::Done) end(flight, {});
    moved = true;
  }
  return moved;
}

// ---- Into the lane

Outgoing::Step Outgoing::place(Flight& flight) {
  if (!room()) return Step::Blocked;
  if (flight.payload.size.value() <= core_->options.eager_max) return place_eager(flight);
  const RegionPtr region = core_->regions.find(flight.payload);
  if (region == nullptr) return place_staged(flight);

  if (!announce(region)) return Step::Blocked;
  const std::uint64_t number = next_number_++;
  OnItsWay& way = flights_[number];
  way.flight = &flight;
  way.region = region;
  way.size = flight.payload.size.value();
  Descriptor descriptor = describe(flight, Kind::Window);
  descriptor.number = number;
  descriptor.region = region->id;
  descriptor.at = static_cast<std::uint64_t>(flight.payload.data - region->memory.data());
  publish(descriptor);
  ++core_->stats.in_window;
  return Step::Kept;
}

// Reads the peer's counter only if its last known value does not suffice.
bool Outgoing::room() {
  const std::uint32_t slots = core_->options.slots;
  if (published_ - taken_ == slots) look_at_taken();
  if (published_ - taken_ < slots) return true;
  blocked_ = Blocked::ByRoom;
  return false;
}

void Outgoing::look_at_taken() {
  const std::uint64_t taken = answers().taken.load(std::memory_order_acquire);
  if (taken - taken_ > published_ - taken_)
    return fail(fmt::format("corrupt answers: it claims to have taken {} messages of {}", taken,
                            published_));
  if (taken == taken_) return;
  taken_ = taken;
  eager_tail_ = eager_end_[(taken - 1) & (core_->options.slots - 1)];
}

Outgoing::Step Outgoing::place_eager(Flight& flight) {
  const std::uint64_t ring = core_->options.eager_ring;
  const std::uint64_t size = flight.payload.size.value();
  // Whole lines, so that every payload is aligned.
  const std::uint64_t lines = (size + kLine - 1) & ~(kLine - 1);
  // A payload is contiguous: the rest of the ring is skipped if it is too small.
  const std::uint64_t left = ring - (eager_head_ & (ring - 1));
  const std::uint64_t gap = left < lines ? left : 0;
  if (eager_head_ + gap + lines - eager_tail_ > ring) look_at_taken();
  if (eager_head_ + gap + lines - eager_tail_ > ring) {
    blocked_ = Blocked::ByRoom;
    return Step::Blocked;
  }
  eager_head_ += gap;
  Descriptor descriptor = describe(flight, Kind::Eager);
  descriptor.at = eager_head_ & (ring - 1);
  if (size > 0) {
    std::byte* bytes = memory_.data() + lane_size(core_->options.slots, 0);
    std::memcpy(bytes + descriptor.at, flight.payload.data, size);
  }
  eager_head_ += lines;
  publish(descriptor);
  ++core_->stats.eager;
  return Step::Done;
}

Outgoing::Step Outgoing::place_staged(Flight& flight) {
  const std::uint64_t size = flight.payload.size.value();
  if (!front_) {
    const bool allowed = staged_ == 0 || staged_ + size <= core_->options.stage_max;
    if (!allowed) return place_offer(flight);
    if (!take_lease(front_, size)) return Step::Blocked;
    front_copied_ = 0;
    staged_ += size;
  }
  if (!announce(front_.region)) return Step::Blocked;
  if (!core_->copy_some(flight.payload.data, front_.data(), size, front_copied_)) {
    blocked_ = Blocked::No;
    return Step::Copying;
  }
  const std::uint64_t number = next_number_++;
  OnItsWay& way = flights_[number];
  way.lease = std::exchange(front_, {});
  way.size = size;
  Descriptor descriptor = describe(flight, Kind::Window);
  descriptor.number = number;
  descriptor.region = way.lease.region->id;
  descriptor.at = way.lease.at;
  publish(descriptor);
  ++core_->stats.staged;
  return Step::Done;
}

Outgoing::Step Outgoing::place_offer(Flight& flight) {
  const std::uint64_t number = next_number_++;
  OnItsWay& way = flights_[number];
  way.flight = &flight;
  way.size = flight.payload.size.value();
  way.offered = true;
  Descriptor descriptor = describe(flight, Kind::Offer);
  descriptor.number = number;
  publish(descriptor);
  ++core_->stats.offered;
  return Step::Kept;
}

Outgoing::Step Outgoing::stage_wanted(std::uint64_t number) {
  OnItsWay& way = flights_.at(number);
  if (!way.lease) {
    // Wanted offers have memory of their own, so that they do not wait for unwanted messages.
    if (wanted_staged_ != 0 && wanted_staged_ + way.size > core_->options.stage_max) {
      blocked_ = Blocked::ByBudget;
      return Step::Blocked;
    }
    if (!take_lease(way.lease, way.size)) return Step::Blocked;
    wanted_staged_ += way.size;
  }
  if (!room() || !announce(way.lease.region)) return Step::Blocked;
  if (!core_->copy_some(way.flight->payload.data, way.lease.data(), way.size, way.copied))
    return Step::Copying;
  Descriptor descriptor{};
  descriptor.kind = Kind::Staged;
  descriptor.number = number;
  descriptor.size = way.size;
  descriptor.region = way.lease.region->id;
  descriptor.at = way.lease.at;
  publish(descriptor);
  end(*std::exchange(way.flight, nullptr), {});
  return Step::Done;
}

bool Outgoing::take_lease(Lease& lease, std::uint64_t size) {
  try {
    lease = core_->pool.take(size);
    return true;
  } catch (const Error& e) {
    fail(fmt::format("a message of {} bytes cannot be sent: {}", size, e.what()));
    return false;
  }
}

void Outgoing::publish(const Descriptor& descriptor) {
  const std::uint64_t slot = published_ & (core_->options.slots - 1);
  std::memcpy(memory_.data() + sizeof(LaneHead) + slot * sizeof descriptor, &descriptor,
              sizeof descriptor);
  eager_end_[slot] = eager_head_;
  lane().published.store(++published_, std::memory_order_release);
  counted(kWakeForNews);
}

void Outgoing::counted(std::uint64_t what) {
  ring_for(what);
  counted_ |= what;
  core_->counted = true;
}

void Outgoing::wake() {
  if (counted_ != 0 && state_ == State::Open) ring_for(std::exchange(counted_, 0));
}

void Outgoing::ring_for(std::uint64_t what) {
  const std::uint64_t asleep = answers().asleep.load(std::memory_order_relaxed);
  if ((asleep & what) == 0 || asleep == rung_) return;
  rung_ = asleep;
  ++core_->stats.rings;
  ring(bell_);
}

// ---- Answers

bool Outgoing::take_answers() {
  const std::uint64_t answered = answers().answered.load(std::memory_order_acquire);
  if (answered == answers_taken_) return false;
  if (answered - answers_taken_ > answer_slots_) {
    fail(fmt::format("corrupt answers: {} given, {} taken, room for {}", answered, answers_taken_,
                     answer_slots_));
    return true;
  }
  while (answers_taken_ != answered) {
    const std::uint64_t slot = answers_taken_++ & (answer_slots_ - 1);
    const auto word = load_once<std::uint64_t>(answers_->data() + sizeof(AnswerHead) + 8 * slot);
    if (!answer(word)) return true;
  }
  lane().answers_taken.store(answers_taken_, std::memory_order_release);
  counted(kWakeForRoom);
  return true;
}

bool Outgoing::answer(std::uint64_t word) {
  const std::uint64_t number = word >> 1U;
  const bool wanted = (word & 1U) == kWanted;
  const auto it = flights_.find(number);
  if (it == flights_.end() || (wanted && (!it->second.offered || it->second.wanted))) {
    fail(fmt::format("corrupt answers: it {} message {}, which does not exist",
                     wanted ? "wants" : "releases", number));
    return false;
  }
  OnItsWay& way = it->second;
  if (wanted) {
    way.wanted = true;
    wanted_.push_back(number);
    return true;
  }
  if (way.flight != nullptr) end(*way.flight, {});
  std::erase(wanted_, number);
  if (way.lease) {
    (way.offered ? wanted_staged_ : staged_) -= way.size;
    core_->pool.give(std::move(way.lease));
  }
  flights_.erase(it);
  return true;
}

// ---- Regions

bool Outgoing::announce(const RegionPtr& region) {
  if (announced_.insert(region->id).second) {
    const bool waiting = !announcements_.empty();
    announcements_.push_back({region->id, region});
    if (!waiting) flush_announcements();
  }
  if (announcements_.empty()) return true;
  blocked_ = Blocked::BySocket;
  return false;
}

void Outgoing::forget(RegionId region) {
  if (announced_.erase(region) == 0 || state_ != State::Open) return;
  announcements_.push_back({region, nullptr});
  if (announcements_.size() == 1) flush_announcements();
}

void Outgoing::flush_announcements() {
  while (!announcements_.empty() && broken_.empty()) {
    const Announcement& next = announcements_.front();
    const bool gone = next.region == nullptr;
    Note note = make_note(gone ? NoteKind::Gone : NoteKind::Region, core_->self, peer_);
    note.region = next.id;
    std::vector<int> descriptors;
    if (!gone) descriptors.push_back(next.region->memory.descriptor());
    const Sent sent = send_note(socket_, note, descriptors);
    if (sent == Sent::Full) return core_->retry_soon();
    // The connection broke: its end is noticed by the reader, after the earlier messages.
    announcements_.pop_front();
  }
}

}  // namespace shoal::shm
