#include "base/recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/check.h"

namespace shoal {

namespace {

using enum EventKind;
constexpr auto kEventNames = names<EventKind>({{SendPosted, "send posted"},
                                               {SendDone, "send done"},
                                               {RecvPosted, "recv posted"},
                                               {RecvDone, "recv done"},
                                               {MessageDropped, "message dropped"},
                                               {OpCancelled, "op cancelled"},
                                               {RangeReused, "RANGE REUSED"},
                                               {ViewSeen, "view seen"},
                                               {FencedOut, "fenced out"},
                                               {ShareAdded, "share added"},
                                               {StepApplied, "step applied"},
                                               {StateAgreed, "state agreed"},
                                               {CheckpointBegun, "checkpoint begun"},
                                               {CheckpointDone, "checkpoint done"},
                                               {CheckpointRead, "checkpoint read"},
                                               {WorkerDone, "worker done"},
                                               {ReadServed, "read served"},
                                               {MessageSent, "message sent"},
                                               {MessageTaken, "message taken"},
                                               {WeightHeld, "weight held"},
                                               {WeightSent, "weight sent"},
                                               {WeightTaken, "weight taken"},
                                               {ModelMoved, "model moved"},
                                               {ResultFormed, "result formed"},
                                               {NodeStarted, "node started"},
                                               {NodeCrashed, "node crashed"},
                                               {NodeFrozen, "node frozen"},
                                               {NodeThawed, "node thawed"},
                                               {FaultBegun, "fault begun"},
                                               {FaultEnded, "fault ended"},
                                               {FileDataLost, "file data lost"}});
static_assert(kEventNames.size() == kEventKinds);

}  // namespace

std::string_view to_string(EventKind kind) { return kEventNames.of(kind); }

std::string describe(const Event& e) {
  std::string peer = e.peer == kNobody ? std::string("-") : fmt::format("{}", e.peer);
  return fmt::format("{:>8} {:12.6f}s node {}.{} {:<15} peer {} group {} gen {} a={} b={:#x} c={}",
                     e.sequence, seconds(e.at), e.node, e.incarnation, to_string(e.kind), peer,
                     e.group, e.generation, e.a, e.b, e.c);
}

namespace {

// Mixes the words side by side: one after the other would take longer than the rest of record().
std::uint64_t digest(const Event& event) {
  const std::array<std::uint64_t, 7> words = {
      static_cast<std::uint64_t>(event.at.time_since_epoch().count()),
      std::uint64_t{event.node.value()} << 32U | event.peer.value(),
      std::uint64_t{event.generation.value()} << 32U | event.incarnation.value(),
      std::uint64_t{event.group.value()} << 8U | static_cast<std::uint64_t>(event.kind),
      event.a,
      event.b,
      event.c};
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    Hash hash(i);
    hash.add(words[i]);
    sum += hash.value();
  }
  return sum;
}

}  // namespace

Recorder::Recorder(std::size_t depth, Hashed hashed)
    : depth_(depth), hashed_(hashed == Hashed::Yes) {
  SHOAL_CHECK(depth > 0 && (depth & (depth - 1)) == 0, "depth {} is not a power of two", depth);
}

void Recorder::record(const Event& event) {
  if (hashed_) hash_.add(digest(event));
  const std::size_t node = event.node == kNobody ? 0 : event.node.value() + 1;
  if (node >= rings_.size()) rings_.resize(node + 1);
  Ring& ring = rings_[node];
  if (ring.events.size() < depth_) ring.events.emplace_back();
  Event& kept = ring.events[ring.next];
  ring.next = (ring.next + 1) & (depth_ - 1);
  kept = event;
  kept.sequence = sequence_++;
  for (Observer* observer : observers_) observer->on(kept);
}

std::vector<Event> Recorder::last(NodeId node) const {
  const std::size_t index = node == kNobody ? 0 : node.value() + 1;
  if (index >= rings_.size()) return {};
  const Ring& ring = rings_[index];
  std::vector<Event> events(ring.events);
  std::rotate(events.begin(), events.begin() + static_cast<std::ptrdiff_t>(ring.next),
              events.end());
  return events;
}

std::string Recorder::dump(std::size_t count) const {
  std::vector<Event> all;
  for (std::size_t index = 0; index < rings_.size(); ++index) {
    const NodeId node = index == 0 ? kNobody : NodeId(static_cast<std::uint32_t>(index - 1));
    const std::vector<Event> events = last(node);
    const std::size_t skip = events.size() > count ? events.size() - count : 0;
    all.insert(all.end(), events.begin() + static_cast<std::ptrdiff_t>(skip), events.end());
  }
  std::ranges::sort(all, {}, &Event::sequence);
  std::string text =
      fmt::format("flight recorder: last {} events of each node, {} in total\n", count, sequence_);
  for (const Event& event : all) text += describe(event) + '\n';
  return text;
}

}  // namespace shoal
