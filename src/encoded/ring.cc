// Part k goes around; each member adds to it and encodes it again. Its sum goes around unchanged.
#include "encoded/forms.h"
#include "encoded/steps.h"

namespace shoal {

Task<void> encoded_ring(const Group& group, Encoder& encoder, Range g, std::uint64_t operation) {
  const std::uint64_t P = group.size();
  const std::uint64_t r = group.rank.value();
  const std::uint64_t next = (r + 1) % P;
  const std::uint64_t previous = (r + P - 1) % P;
  const auto part = [&](std::uint64_t i) { return part_of(g, i % P, P); };
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    for (std::uint64_t s = 0; s + 1 < P; ++s) {
      const Tag tag = group.tag(operation, s);
      const ConstBuf message = co_await message_of(group, encoder, part(r + P - s - 1));
      give_message(group, tasks, next, tag, message);
      const Reading reading = co_await read_message(group, previous, tag);
      co_await add_to(group, encoder, reading.data(), part(r + 2 * P - s - 2), group.at(previous));
    }
    ConstBuf sum = co_await message_of(group, encoder, part(r));
    co_await put(group, encoder, sum, part(r), group.at(r));
    for (std::uint64_t s = 0; s + 1 < P; ++s) {
      const Tag tag = group.tag(operation, P + s);
      give_message(group, tasks, next, tag, sum);
      sum = co_await take_message(group, encoder, previous, tag);
      co_await put(group, encoder, sum, part(r + P - s - 1), group.at(previous));
    }
  });
}

}  // namespace shoal
