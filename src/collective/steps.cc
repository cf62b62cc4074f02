#include "collective/steps.h"

#include "collective/reduce.h"

namespace shoal {

std::span<const float> floats(ConstBuf data) {
  const auto bytes = data.bytes();
  return {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)};
}

Task<void> receive(const Group& group, NodeId from, Tag tag, MutBuf room) {
  const Match match{.from = from, .tag = tag};
  const Received received = co_await group.node.endpoint.recv(match, room);
  require_size(received, room.size);
}

Task<void> add_given(const Group& group, NodeId from, Tag tag, Range mine, Range room) {
  Env& env = group.node.env;
  if (!group.on_this_host(from)) {
    co_await receive(group, from, tag, room.bytes());
    std::vector<const float*> terms{mine.data().data(), room.data().data()};
    co_await sum_up(env, mine, 2, std::move(terms));
    co_return;
  }
  const Match match{.from = from, .tag = tag};
  const Reading reading = co_await group.node.endpoint.read(match);
  require_size(reading, mine.bytes().size);
  std::vector<const float*> terms{mine.data().data(), floats(reading.data()).data()};
  co_await sum_up(env, mine, 2, std::move(terms));
}

}  // namespace shoal
