#include "collective/all_to_all.h"

#include "collective/steps.h"
#include "runtime/task_group.h"

namespace shoal {

Task<void> all_to_all(const Group& group, Range out, Range in, std::uint64_t operation) {
  const std::uint64_t P = group.size();
  const std::uint64_t r = group.rank.value();
  SHOAL_CHECK_EQ(out.n.value() % P, 0U, "parts of {} elements for {} members", out.n, P);
  SHOAL_CHECK_EQ(out.n, in.n);
  const Tag tag = group.tag(operation, 0);
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    for (std::uint64_t k = 1; k < P; ++k) {
      const std::uint64_t from = (r + P - k) % P;
      const std::uint64_t to = (r + k) % P;
      tasks.spawn(receive(group, group.at(from), tag, part_of(in, from, P).bytes()));
      tasks.spawn(
          as_task(group.node.endpoint.send(group.at(to), tag, part_of(out, to, P).bytes())));
    }
    const Range kept = part_of(out, r, P);
    const Range place = part_of(in, r, P);
    co_await group.node.env.work(Work::Copy, kept.n, [&] { copy(kept.bytes(), place.bytes()); });
  });
}

}  // namespace shoal
