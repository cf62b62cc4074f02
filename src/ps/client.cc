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

Task<Answer> Client::as_worker(Ask::Kind kind, Ask ask, Range brought, Room room) {
  ask.kind = kind;
  ask.worker = node_.id;
  ask.life = node_.incarnation;
  return request(ask, brought, room);
}

Task<Answer> Client::train(Ask ask, Range gradient, Room room) {
  return as_worker(Ask::Kind::Train, ask, gradient, room);
}

Task<Answer> Client::enter(Ask ask, Room room) {
  return as_worker(Ask::Kind::Enter, ask, {}, room);
}

Task<Answer> Client::leave(std::uint32_t shard, std::uint64_t settled) {
  Ask ask;
  ask.shard = shard;
  ask.settled = settled;
  return as_worker(Ask::Kind::Leave, ask, {}, {});
}

Task<Answer> Client::follow(Ask ask, Room room) {
  return as_worker(Ask::Kind::Follow, ask, {}, room);
}

Task<Answer> Client::task(Ask ask, Range rest, Room room) {
  return as_worker(Ask::Kind::EndOfEpochTask, ask, rest, room);
}

Task<Answer> Client::snapshot(std::uint32_t shard, Room room) {
  Ask ask;
  ask.kind = Ask::Kind::Snapshot;
  ask.shard = shard;
  ask.wants_read = 1;
  ask.wants_slots = room.slots.n > Elements(0) ? 1 : 0;
  return request(ask, {}, room);
}

Task<Answer> Client::sums(std::uint32_t shard, std::uint64_t version, std::uint32_t round,
                          std::vector<std::uint64_t>& words) {
  Ask ask;
  ask.kind = Ask::Kind::Sums;
  ask.shard = shard;
  ask.version = version;
  ask.block = round;
  Room room;
  room.news = &words;
  return request(ask, {}, room);
}

Task<Answer> Client::query(std::uint32_t shard, NodeId worker, Incarnation life) {
  Ask ask;
  ask.kind = Ask::Kind::LostPushQuery;
  ask.shard = shard;
  ask.worker = worker;
  ask.life = life;
  return request(ask, {}, {});
}

Task<Answer> Client::request(Ask ask, Range brought, Room room) {
  while (true) {
    co_await directories_.reach(Generation(1));
    const ShardDirectory& directory = directories_.now();
    ask.directory = directory.generation;
    ask.number = number_++;
    ask.asker = node_.incarnation;
    const Holder head = directory.shards[ask.shard].chain.holders[0];
    Call& call = calls_.take({ask, {}});
    std::optional<PeerLost> lost;
    try {
      co_await request_once(call, head, brought, room);
    } catch (const PeerLost& error) {
      lost = error;
    }
    const Answer answer = call.answer;
    if (!lost) calls_.give_back(call);  // else an answer may still be written there
    if (!lost && answer.kind != Answer::Kind::NotHere) co_return answer;
    node_.env.probe("ps: a request was sent again");
    if (lost && node_.membership.now().has(head.node, head.life))
      node_.membership.suspect(head.node, lost->what());
    co_await directories_.after(ask.directory);
  }
}

Task<void> Client::request_once(Call& call, Holder head, Range brought, Room room) {
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    require_present(node_, head);  // before anything is sent to another life
    Endpoint& endpoint = node_.endpoint;
    tasks.spawn(
        as_task(endpoint.send(head.node, tag_of(MessageKind::Ask, 0), const_buf(call.ask))));
    const Tag tag = tag_of(MessageKind::Gradient, call.ask.number);
    if (call.ask.brings()) tasks.spawn(as_task(endpoint.publish(head.node, tag, brought.bytes())));
    tasks.spawn(take_answer(call, head, room));
    co_return;
  });
}

Task<void> Client::take_answer(Call& call, Holder head, Room room) {
  const std::uint64_t number = call.ask.number;
  require_present(node_, head);
  const Match match{.from = head.node, .tag = tag_of(MessageKind::Answer, number)};
  const Received received = co_await node_.endpoint.recv(match, mut_buf(call.answer));
  require_size(received, Bytes(sizeof call.answer));
  const Answer& answer = call.answer;
  if (answer.has_parameters != 0) {
    const Tag tag = tag_of(MessageKind::Parameters, number);
    if (answer.encoded != 0) {
      co_await take_encoded(head, tag, room.w);
    } else {
      co_await take_pieces(node_, head, tag, room.w);
    }
    if (room.slots.n > Elements(0))
      co_await take_range(node_, head, tag_of(MessageKind::Slots, number), room.slots);
  }
  if (answer.has_rest != 0)
    co_await take_range(node_, head, tag_of(MessageKind::Rest, number), room.rest);
  if (answer.has_news != 0) co_await take_news(head, tag_of(MessageKind::News, number), *room.news);
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

Task<void> Client::take_news(Holder head, Tag tag, std::vector<std::uint64_t>& into) {
  require_present(node_, head);
  const Match match{.from = head.node, .tag = tag};
  const Reading there = co_await node_.endpoint.read(match);
  const ConstBuf bytes = there.data();
  into.resize(bytes.size.value() / sizeof(std::uint64_t));
  std::memcpy(into.data(), bytes.data, into.size() * sizeof(std::uint64_t));
}

}  // namespace shoal
