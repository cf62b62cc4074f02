// Exchange: which algorithm sums a range over the members of a group. A value; each algorithm has a
// file of its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "collective/group.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

enum class Exchange : std::uint8_t {
  Auto,  // by the measured costs of links and work: cost.h
  Ring,
  Butterfly,
  HalvingDoubling,
  Tree,
  DoubleTree,
  Direct,
  Hierarchical,
};
inline constexpr std::size_t kExchanges = 8;
// Those that can be run, which Auto cannot.
inline constexpr std::array kAllReduces = {
    Exchange::Direct, Exchange::Ring,       Exchange::Butterfly,   Exchange::HalvingDoubling,
    Exchange::Tree,   Exchange::DoubleTree, Exchange::Hierarchical};

std::string_view to_string(Exchange exchange);   // "halving-doubling"
Exchange parse_exchange(std::string_view name);  // an unknown one is a ConfigError

// On return `data` holds the sum over all members, with the same bits on all of them. `scratch` has
// the size of data, and both live until the generation is retired.
// REQUIRES: the same exchange, other than Auto, operation and data.n on all members.
Task<void> all_reduce(Exchange exchange, const Group& group, Range data, Range scratch,
                      std::uint64_t operation);

// The same from `data` to `sum`, which may be one, in pieces of at most so many elements. A few are
// under way at once: while one is copied or added up another is on the wire. `data` stays as it is,
// and must until the end. Takes the operations [operation, operation + pieces_of(data.n, piece)).
Task<void> all_reduce_in_pieces(Exchange exchange, const Group& group, Range data, Range sum,
                                Range scratch, std::uint64_t operation, Elements piece);
std::uint64_t pieces_of(Elements n, Elements piece);

}  // namespace shoal
