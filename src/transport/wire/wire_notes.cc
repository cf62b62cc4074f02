// Messages between endpoints: their activity, for stall reports, and a confirmation that all
// messages have arrived, before a node leaves.
#include <set>
#include <string>
#include <utility>

#include "transport/wire/wire_endpoint.h"

namespace shoal {
namespace {

constexpr std::uint64_t kQuestion = 1;
constexpr std::uint64_t kAnswer = 2;
constexpr std::uint64_t kThatIsAll = 3;  // the last one of this lane
constexpr std::uint64_t kConfirmed = 4;
constexpr std::size_t kNoteMax = 4096;  // small enough to arrive with its header

}  // namespace

// A message of the endpoint itself.
struct WireEndpoint::Note final : Flight {
  explicit Note(std::string t) : text(std::move(t)) {}
  const std::string text;
};

void WireEndpoint::send_note(NodeId to, std::uint32_t lane, std::uint64_t id, std::string text) {
  Outgoing* const out = connect(to);
  if (out == nullptr || state() != State::Open) return;
  if (text.size() > kNoteMax) text.resize(kNoteMax);
  auto note = std::make_unique<Note>(std::move(text));
  const ConstBuf payload = const_buf(std::span<const char>(note->text));
  Tag tag;
  tag.group = kNoteGroup;
  tag.id = id;
  launch(std::move(note), *out, lane, tag, payload);
}

void WireEndpoint::ask_missing(Answer answer) {
  answer_ = std::move(answer);
  std::set<NodeId> missing;
  for (const Mailbox::Awaited& a : mailbox_.waiting())
    if (a.match.from != kAnyone && a.match.from != self_.node) missing.insert(a.match.from);
  flights_.each([&](Flight& f) { missing.insert(f.to.node); });
  fetches_.each([&](Parcel& p) { missing.insert(p.from); });
  for (const NodeId peer : missing) send_note(peer, 0, kQuestion, {});
}

void WireEndpoint::take_note(Parcel& parcel) {
  const NodeId from = parcel.from;
  const LifeId life{parcel.from, parcel.incarnation};
  const std::uint64_t id = parcel.tag.id;
  std::string text;
  if (const auto here = parcel.carrier->in_place(parcel))
    text.assign(reinterpret_cast<const char*>(here->data), here->bytes().size());
  parcel.carrier->release(parcel);
  if (id == kQuestion) return send_note(from, 0, kAnswer, situation_ ? situation_() : "");
  if (id == kThatIsAll) return send_note(from, 0, kConfirmed, {});
  if (id == kAnswer && answer_) answer_(from, text);
  if (id != kConfirmed) return;
  const auto it = unconfirmed_.find(life);
  if (it == unconfirmed_.end() || --it->second > 0) return;
  unconfirmed_.erase(it);
  freed_.notify_all();
}

Task<void> WireEndpoint::deliver_all() {
  std::vector<LifeId> peers;
  for (const auto& [node, out] : outgoing_) {
    if (node == self_.node) continue;
    unconfirmed_[out.life] = static_cast<std::uint32_t>(out.sequence.size());
    peers.push_back(out.life);
  }
  for (const LifeId peer : peers)
    for (std::uint32_t lane = 0; lane < unconfirmed_[peer]; ++lane)
      send_note(peer.node, lane, kThatIsAll, {});
  while (!unconfirmed_.empty()) co_await freed_.wait();
}

}  // namespace shoal
