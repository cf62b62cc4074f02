#include "collective/dissemination.h"

#include <algorithm>
#include <cstring>

namespace shoal {

Task<void> all_gather(const Group& group, std::span<std::byte> blocks, std::span<std::byte> room,
                      std::uint64_t operation) {
  const std::uint64_t P = group.size();
  const std::uint64_t r = group.rank.value();
  SHOAL_CHECK_EQ(blocks.size() % P, 0U);
  SHOAL_CHECK_EQ(blocks.size(), room.size());
  const std::uint64_t size = blocks.size() / P;
  if (P == 1) co_return;
  if (size == 0) co_return co_await barrier(group, operation);

  // In `room` block k is the block of rank r-k, so that the blocks held so far are always a prefix.
  std::memcpy(room.data(), blocks.data() + r * size, size);
  std::uint64_t round = 0;
  for (std::uint64_t d = 1; d < P; d *= 2, ++round) {
    const std::uint64_t count = std::min(d, P - d);
    const auto distance = static_cast<std::int64_t>(d);
    const Tag tag = group.tag(operation, round);
    const ConstBuf out{room.data(), Bytes(count * size)};
    const MutBuf in{room.data() + d * size, Bytes(count * size)};
    const auto done = co_await all(
        group.node.endpoint.send(group.peer(distance), tag, out),
        group.node.endpoint.recv(Match{.from = group.peer(-distance), .tag = tag}, in));
    require_size(std::get<1>(done), in.size);
  }
  for (std::uint64_t k = 0; k < P; ++k)
    std::memcpy(blocks.data() + (r + P - k) % P * size, room.data() + k * size, size);
}

Task<void> barrier(const Group& group, std::uint64_t operation) {
  std::uint64_t round = 0;
  for (std::uint64_t d = 1; d < group.size(); d *= 2, ++round) {
    const auto distance = static_cast<std::int64_t>(d);
    const Tag tag = group.tag(operation, round);
    co_await all(
        group.node.endpoint.send(group.peer(distance), tag, ConstBuf{}),
        group.node.endpoint.recv(Match{.from = group.peer(-distance), .tag = tag}, MutBuf{}));
  }
}

}  // namespace shoal
