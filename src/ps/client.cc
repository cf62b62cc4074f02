#include "ps/client.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "base/error.h"
#include "runtime/slices.h"
#include "runtime/task_group.h"

namespace shoal {

Task<void> take_range(Node& node, Holder from, Tag tag, Range into) {
  require_present(node, from);
  const Match match{.from = from.node, .tag = tag};
  const Reading there = co_await node.endpoint.read(match);
  require_size(there, into.bytes().size);
  co_await copy(node.env, into, reinterpret_cast<const float*>(there.data().data));
}

namespace {

// All at once, in the order in which they come.
Task<void> take_pieces(Node& node, Holder from, Tag tag, Range into) {
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    for (std::uint64_t i = 0; i < pieces_of(into.n); ++i)
      tasks.spawn(take_range(node, from, tag, piece_of(into, i)));
    co_return;
  });
}

}  // namespace

template <class Message>
Task<typename Message::Answer> Client::call(Message message, Range brought, Room room) {
  while (true) {
    co_await directories_.reach(Generation(1));
    const ShardDirectory& directory = directories_.now();
    message.header.directory = directory.generation;
    message.header.number = number_++;
    message.header.life = node_.incarnation;
    const Holder head = directory.shards[message.header.shard].chain.holders[0];
    Call& call = calls_.take({message.header.number, attachment_of(message)});
    call.request.put(AnyRequest(message));
    std::optional<PeerLost> lost;
    try {
      co_await request_once(call, head, brought, room);
    } catch (const PeerLost& error) {
      lost = error;
    }
    const auto answer = call.answer.template get<typename Message::Answer>();
    if (!lost) calls_.give_back(call);  // else an answer may still be written there
    if (!lost && answer.header.outcome != RequestOutcome::NotHere) co_return answer;
    node_.env.probe("ps: a request was sent again");
    if (lost && node_.membership.now().has(head.node, head.life))
      node_.membership.suspect(head.node, lost->what());
    co_await directories_.after(message.header.directory);
  }
}

Task<void> Client::request_once(Call& call, Holder head, Range brought, Room room) {
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    require_present(node_, head);  // before anything is sent to another life
    Endpoint& endpoint = node_.endpoint;
    const Tag to_head = tag_of(MessageKind::Request, 0);
    tasks.spawn(as_task(endpoint.send(head.node, to_head, call.request.bytes())));
    const Tag tag = tag_of(MessageKind::Gradient, call.number);
    if (call.attachment.sent())
      tasks.spawn(as_task(endpoint.publish(head.node, tag, brought.bytes())));
    tasks.spawn(take_answer(call, head, room));
    co_return;
  });
}

Task<void> Client::take_answer(Call& call, Holder head, Room room) {
  const std::uint64_t number = call.number;
  require_present(node_, head);
  const Match match{.from = head.node, .tag = tag_of(MessageKind::Answer, number)};
  const Received received = co_await node_.endpoint.recv(match, call.answer.room());
  require_size(received, call.answer.room().size);
  const auto answer = call.answer.get<AnswerHeader>();
  if (answer.parameters != 0) {
    const Tag tag = tag_of(MessageKind::Parameters, number);
    if (answer.encoded != 0) {
      co_await take_encoded(head, tag, room.w);
    } else {
      co_await take_pieces(node_, head, tag, room.w);
    }
    if (room.slots.n > Elements(0))
      co_await take_range(node_, head, tag_of(MessageKind::Slots, number), room.slots);
  }
  if (answer.buffers != 0)
    co_await take_range(node_, head, tag_of(MessageKind::Buffers, number), room.buffers);
  if (answer.words != 0) co_await take_words(head, tag_of(MessageKind::Words, number), *room.words);
}

Task<void> Client::take_encoded(Holder head, Tag tag, Range into) {
  for (std::uint64_t i = 0; i < pieces_of(into.n); ++i) {
    require_present(node_, head);
    const Match match{.from = head.node, .tag = tag};
    const Reading there = co_await node_.endpoint.read(match);
    const std::span<float> to = piece_of(into, i).data();
    std::optional<std::string> wrong;
    try {
      co_await node_.env.work(Work::Decode, piece_of(into, i).n, [&] {
        if (!to.empty()) pulls_->decode(there.data().bytes(), to);
      });
    } catch (const Corrupt& error) {
      wrong = error.what();
    }
    if (wrong) throw Corrupt(fmt::format("parameters of node {}: {}", head.node, *wrong));
  }
}

Task<void> Client::take_words(Holder head, Tag tag, std::vector<std::uint64_t>& into) {
  require_present(node_, head);
  const Match match{.from = head.node, .tag = tag};
  const Reading there = co_await node_.endpoint.read(match);
  const ConstBuf bytes = there.data();
  into.resize(bytes.size.value() / sizeof(std::uint64_t));
  std::memcpy(into.data(), bytes.data, into.size() * sizeof(std::uint64_t));
}

template Task<EnterAnswer> Client::call(EnterRequest, Range, Room);
template Task<RegisterAnswer> Client::call(RegisterRequest, Range, Room);
template Task<LeaveAnswer> Client::call(LeaveRequest, Range, Room);
template Task<TrainAnswer> Client::call(TrainRequest, Range, Room);
template Task<FollowAnswer> Client::call(FollowRequest, Range, Room);
template Task<PieceAnswer> Client::call(PieceRequest, Range, Room);
template Task<PushSumAnswer> Client::call(PushSumRequest, Range, Room);
template Task<LostPieceAnswer> Client::call(LostPieceRequest, Range, Room);
template Task<EndOfEpochAnswer> Client::call(EndOfEpochRequest, Range, Room);
template Task<SnapshotAnswer> Client::call(SnapshotRequest, Range, Room);
template Task<SumsAnswer> Client::call(SumsRequest, Range, Room);
template Task<LostPushAnswer> Client::call(LostPushQuery, Range, Room);

}  // namespace shoal
