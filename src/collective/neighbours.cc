#include "collective/neighbours.h"

#include "collective/steps.h"
#include "runtime/task_group.h"

namespace shoal {

Task<void> exchange_with(const Group& group, Range own, std::span<const Neighbour> neighbours,
                         std::uint64_t operation) {
  const Tag tag = group.tag(operation, 0);
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    for (const Neighbour& neighbour : neighbours) {
      tasks.spawn(receive(group, neighbour.node, tag, neighbour.room.bytes()));
      tasks.spawn(as_task(group.node.endpoint.send(neighbour.node, tag, own.bytes())));
    }
    co_return;
  });
}

}  // namespace shoal
