#include "encoded/steps.h"

namespace shoal {

Task<ConstBuf> message_of(const Group& group, Encoder& encoder, Range g) {
  if (!encoder.phantom())
    if (const std::optional<ConstBuf> taken = encoder.taken(g)) co_return *taken;
  const MutBuf room = encoder.room(encoder.phantom() ? encoder.expected(g) : encoder.most(g));
  Bytes size = room.size;
  co_await group.node.env.work(Work::Encode, g.n, [&] {
    if (!encoder.phantom()) size = encoder.encode(g, room);
  });
  encoder.encoded(g);
  co_return ConstBuf{room.data, size};
}

Task<void> put(const Group& group, const Encoder& encoder, ConstBuf message, Range g, NodeId from) {
  co_await group.node.env.work(Work::Decode, g.n, [&] {
    if (!encoder.phantom()) encoder.decode(message, g, from);
  });
}

Task<void> add_to(const Group& group, const Encoder& encoder, ConstBuf message, Range g,
                  NodeId from) {
  co_await group.node.env.work(Work::Decode, g.n, [&] {
    if (!encoder.phantom()) encoder.decode_add(message, g, from);
  });
}

void give_message(const Group& group, TaskGroup& tasks, std::uint64_t to, Tag tag,
                  ConstBuf message) {
  tasks.spawn(as_task(group.node.endpoint.publish(group.at(to), tag, message)));
}

Task<Reading> read_message(const Group& group, std::uint64_t from, Tag tag) {
  const Match match{.from = group.at(from), .tag = tag};
  co_return co_await group.node.endpoint.read(match);
}

Task<ConstBuf> take_message(const Group& group, Encoder& encoder, std::uint64_t from, Tag tag) {
  const Reading reading = co_await read_message(group, from, tag);
  const MutBuf room = encoder.room(reading.size());
  copy(reading.data(), room);
  co_return ConstBuf(room);
}

}  // namespace shoal
