#include "ps/client.h"

#include <memory>
#include <optional>

#include "base/error.h"
#include "base/stream_copy.h"
#include "runtime/slices.h"
#include "runtime/task_group.h"

namespace shoal {

Task<Answer> Client::train(Ask ask, Range gradient, Range w) {
  ask.kind = Ask::Kind::Train;
  ask.worker = node_.id;
  ask.life = node_.incarnation;
  return request(ask, gradient, w, {});
}

Task<Answer> Client::errand(Ask ask) {
  ask.kind = Ask::Kind::Errand;
  ask.worker = node_.id;
  ask.life = node_.incarnation;
  return request(ask, {}, {}, {});
}

Task<Answer> Client::snapshot(std::uint32_t shard, Range w, Range slots) {
  Ask ask;
  ask.kind = Ask::Kind::Snapshot;
  ask.shard = shard;
  ask.wants_read = 1;
  return request(ask, {}, w, slots);
}

Task<Answer> Client::inquest(std::uint32_t shard, NodeId worker, Incarnation life) {
  Ask ask;
  ask.kind = Ask::Kind::Inquest;
  ask.shard = shard;
  ask.worker = worker;
  ask.life = life;
  return request(ask, {}, {}, {});
}

Task<Answer> Client::request(Ask ask, Range gradient, Range w, Range slots) {
  while (true) {
    co_await directories_.reach(Generation(1));
    const Directory& directory = directories_.now();
    ask.directory = directory.generation;
    ask.number = number_++;
    ask.asker = node_.incarnation;
    const Holder head = directory.shards[ask.shard].chain.holders[0];
    Call& call = calls_.take({ask, {}});
    std::optional<PeerLost> lost;
    try {
      co_await request_once(call, head, gradient, w, slots);
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

Task<void> Client::request_once(Call& call, Holder head, Range gradient, Range w, Range slots) {
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    require_present(node_, head);  // before anything is sent to another life
    Endpoint& endpoint = node_.endpoint;
    tasks.spawn(as_task(endpoint.send(head.node, tag_of(Say::Ask, 0), const_buf(call.ask))));
    const Tag tag = tag_of(Say::Gradient, call.ask.number);
    if (call.ask.samples > 0)
      tasks.spawn(as_task(endpoint.publish(head.node, tag, gradient.bytes())));
    tasks.spawn(take_answer(call, head, w, slots));
    co_return;
  });
}

Task<void> Client::take_answer(Call& call, Holder head, Range w, Range slots) {
  const std::uint64_t number = call.ask.number;
  require_present(node_, head);
  const Match match{.from = head.node, .tag = tag_of(Say::Answer, number)};
  const Received received = co_await node_.endpoint.recv(match, mut_buf(call.answer));
  require_size(received, Bytes(sizeof call.answer));
  if (call.answer.has_parameters == 0) co_return;
  co_await take(head, 2 * number, w);
  if (slots.n > Elements(0)) co_await take(head, 2 * number + 1, slots);
}

Task<void> Client::take(Holder head, std::uint64_t number, Range into) {
  require_present(node_, head);
  const Match match{.from = head.node, .tag = tag_of(Say::Parameters, number)};
  const Reading there = co_await node_.endpoint.read(match);
  require_size(there, into.bytes().size);
  const std::byte* const from = there.data().data;
  const MutBuf room = into.bytes();
  co_await in_slices(node_.env, Work::Copy, into.n.value(), room.data == nullptr, Order::Forward, 1,
                     [&](std::size_t begin, std::size_t end) {
                       const std::size_t at = begin * sizeof(float);
                       copy_slice(room.data + at, from + at, (end - begin) * sizeof(float),
                                  room.size.value());
                     });
}

}  // namespace shoal
