// Everyone sends all it has to all others, and adds up what all sent, by rank.
#include "encoded/forms.h"
#include "encoded/steps.h"

namespace shoal {

Task<void> encoded_gather(const Group& group, Encoder& encoder, Range g, std::uint64_t operation) {
  const std::uint64_t P = group.size();
  const std::uint64_t r = group.rank.value();
  const Tag tag = group.tag(operation, 0);
  const ConstBuf own = co_await message_of(group, encoder, g);
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    for (std::uint64_t k = 1; k < P; ++k) give_message(group, tasks, (r + k) % P, tag, own);
    for (std::uint64_t from = 0; from < P; ++from) {
      std::optional<Reading> reading;
      if (from != r) reading = co_await read_message(group, from, tag);
      const ConstBuf message = reading ? reading->data() : own;
      if (from == 0) {
        co_await put(group, encoder, message, g, group.at(from));
      } else {
        co_await add_to(group, encoder, message, g, group.at(from));
      }
    }
  });
}

}  // namespace shoal
