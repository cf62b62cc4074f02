// All-to-all: member i has a part for every member j, and member j receives part j from everyone.
// Direct, as in Bruck et al., IEEE TPDS 8(11), 1997, doi:10.1109/71.642949, for long messages.
//
//   for k = 0 .. P-1, at once:   send part r+k of `out` to r+k;  receive part r-k of `in` from r-k
//
// Symbols: P members, r own rank, N elements in P equal parts.
// Cost: P-1 messages of N/P elements each way; (P-1)/P T, or L + (P-1)/P mG.
// Failure: PeerLost at every other member. `in` is then undefined, and both ranges are busy until
// the generation is retired.
#pragma once

#include <cstdint>

#include "collective/group.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

// `out` and `in` stay alive until the generation is retired. REQUIRES: both have the same size on
// all members, a multiple of P, and do not overlap.
Task<void> all_to_all(const Group& group, Range out, Range in, std::uint64_t operation);

}  // namespace shoal
