// Dissemination all-gather of small blocks; without data it is the barrier. Bruck, Ho, Kipnis,
// Upfal, Weathersby, "Efficient algorithms for all-to-all communications in multiport
// message-passing systems", IEEE TPDS 8(11), 1997, doi:10.1109/71.642949.
//
//   have = my block
//   for d = 1, 2, 4 .. < P:   send min(d, P-d) blocks of `have` to r+d, receive as many from r-d
//
// Symbols: P members, r own rank. Cost: ceil(log2 P) messages, P-1 blocks each way.
// When it ends at one member, every member has begun it. Failure: as ring_all_reduce.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "collective/group.h"
#include "runtime/task.h"

namespace shoal {

// `blocks` holds P blocks of equal size, the caller's own at its rank; on return it holds all
// blocks. `room` has the size of `blocks`. Both live until the generation is retired.
Task<void> all_gather(const Group& group, std::span<std::byte> blocks, std::span<std::byte> room,
                      std::uint64_t operation);

// Buffers for successive all-gathers; lives until the generation is retired.
class Gathering {
 public:
  // The values of all members, in rank order. Every member gives the same number of values.
  template <class T>
  Task<std::vector<T>> of_all(const Group& group, std::span<const T> own, std::uint64_t operation) {
    blocks_.assign(group.size() * own.size_bytes(), std::byte{0});
    room_.assign(blocks_.size(), std::byte{0});
    std::ranges::copy(
        std::as_bytes(own),
        blocks_.begin() + static_cast<std::ptrdiff_t>(group.rank.value() * own.size_bytes()));
    co_await all_gather(group, blocks_, room_, operation);
    std::vector<T> values(group.size() * own.size());
    std::ranges::copy(blocks_, std::as_writable_bytes(std::span(values)).begin());
    co_return values;
  }
  template <class T>
  Task<std::vector<T>> of_all(const Group& group, const T& own, std::uint64_t operation) {
    return of_all(group, std::span<const T>(&own, 1), operation);
  }

 private:
  std::vector<std::byte> blocks_, room_;
};

// Ends at no member before every member has begun it: the same rounds, with empty messages.
Task<void> barrier(const Group& group, std::uint64_t operation);

}  // namespace shoal
