#include "ps/served_context.h"

#include "runtime/task_group.h"

namespace shoal {

Task<void> ServedContext::at_all(std::size_t shards, Visit visit) {
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    for (std::uint32_t k = 0; k < shards; ++k) tasks.spawn(visit(k));
    co_return;
  });
}

}  // namespace shoal
