// What endpoints tell each other when something stalls: who is waited for says what it does.
#include <set>
#include <string>
#include <utility>

#include "transport/wire/wire_endpoint.h"

namespace shoal {
namespace {

constexpr std::uint64_t kQuestion = 1;
constexpr std::uint64_t kAnswer = 2;
constexpr std::size_t kNoteMax = 4096;  // small enough to come with its header

}  // namespace

// A message of the endpoint's own.
struct WireEndpoint::Note final : Flight {
  explicit Note(std::string t) : text(std::move(t)) {}
  const std::string text;
};

void WireEndpoint::send_note(NodeId to, std::uint64_t id, std::string text) {
  Outgoing* const out = connect(to);
  if (out == nullptr || state_ != State::Open) return;
  if (text.size() > kNoteMax) text.resize(kNoteMax);
  auto note = std::make_unique<Note>(std::move(text));
  const ConstBuf payload = const_buf(std::span<const char>(note->text));
  Tag tag;
  tag.group = kNoteGroup;
  tag.id = id;
  launch(std::move(note), *out, tag, payload);
}

void WireEndpoint::ask_missing(Answer answer) {
  answer_ = std::move(answer);
  std::set<NodeId> missing;
  for (const Mailbox::Awaited& a : mailbox_.waiting())
    if (a.match.from != kAnyone && a.match.from != self_.node) missing.insert(a.match.from);
  flights_.each([&](Flight& f) { missing.insert(f.to.node); });
  fetches_.each([&](Parcel& p) { missing.insert(p.from); });
  for (const NodeId peer : missing) send_note(peer, kQuestion, {});
}

void WireEndpoint::take_note(Parcel& parcel) {
  const NodeId from = parcel.from;
  const std::uint64_t id = parcel.tag.id;
  std::string text;
  if (const auto here = parcel.carrier->in_place(parcel))
    text.assign(reinterpret_cast<const char*>(here->data), here->bytes().size());
  parcel.carrier->release(parcel);
  if (id == kQuestion) return send_note(from, kAnswer, situation_ ? situation_() : "");
  if (id == kAnswer && answer_) answer_(from, text);
}

}  // namespace shoal
