// Part k goes to member k, which adds it up and sends the sum to all.
#include "encoded/forms.h"
#include "encoded/steps.h"

namespace shoal {
namespace {

constexpr std::uint64_t kParts = 0;
constexpr std::uint64_t kSums = 1;

}  // namespace

Task<void> encoded_direct(const Group& group, Encoder& encoder, Range g, std::uint64_t operation) {
  const std::uint64_t P = group.size();
  const std::uint64_t r = group.rank.value();
  const Tag parts = group.tag(operation, kParts);
  const Tag sums = group.tag(operation, kSums);
  const Range mine = part_of(g, r, P);
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    // To the next member first, and so on: no member gets two messages at once while another waits.
    for (std::uint64_t k = 1; k < P; ++k) {
      const std::uint64_t to = (r + k) % P;
      const ConstBuf message = co_await message_of(group, encoder, part_of(g, to, P));
      give_message(group, tasks, to, parts, message);
    }
    for (std::uint64_t from = 0; from < P; ++from) {
      if (from == r) continue;
      const Reading reading = co_await read_message(group, from, parts);
      co_await add_to(group, encoder, reading.data(), mine, group.at(from));
    }
    const ConstBuf sum = co_await message_of(group, encoder, mine);
    for (std::uint64_t k = 1; k < P; ++k) give_message(group, tasks, (r + k) % P, sums, sum);
    co_await put(group, encoder, sum, mine, group.at(r));
    for (std::uint64_t k = 1; k < P; ++k) {
      const std::uint64_t from = (r + P - k) % P;
      const Reading reading = co_await read_message(group, from, sums);
      co_await put(group, encoder, reading.data(), part_of(g, from, P), group.at(from));
    }
  });
}

}  // namespace shoal
