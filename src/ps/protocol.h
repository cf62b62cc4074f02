// The conversations about shards. Every message has generation 0: servers outlive views, and only
// the lives of the two nodes count. A small message is a struct of requests.h or records.h; large
// data follows it as a range, in separate messages.
//
//   worker to head           Request, then a gradient or buffers          Request, Gradient
//   head to worker           Answer, then what belongs to it              Answer, Parameters, ..
//   holder to next holder    Record, then what belongs to it              Record, RecordPart
//   next holder to holder    the number of records that it has            Acknowledgement
//   member to group leader   Help, then a gradient                        Help, PieceGradient
//   leader to member         Order, then parameters                       Order, PieceParameters
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/types.h"
#include "runtime/header.h"
#include "runtime/range.h"
#include "runtime/slices.h"

namespace shoal {

inline constexpr GroupId kServing{2};

// The upper 8 bits of a tag's id are this, the others a number.
enum class MessageKind : std::uint8_t {
  Request,
  Gradient,
  Answer,
  Parameters,  // of the shard
  Slots,       // of the optimizer
  Buffers,     // of the model
  Words,       // an epoch's summary (epoch_summary.h), or sums of squares (norm_handler.h)
  Record,
  RecordPart,
  Acknowledgement,
  // Inside a group of workers (served_group.h).
  Help,
  PieceGradient,
  Order,
  PieceParameters,
};
inline Tag tag_of(MessageKind kind, std::uint64_t number) {
  return Tag{kServing, Generation(0), static_cast<std::uint64_t>(kind) << 56U | number};
}

// Parameters are sent in pieces, in order, so that the first are copied while the last are still
// computed. All pieces have the same tag. A short shard is one piece: it is one of many shards,
// which overlap each other.
inline constexpr Elements kPiece{kSliceElements};
inline constexpr Elements kUncutMost{3 * kSliceElements};
inline std::uint64_t pieces_of(Elements n) {
  return n <= kUncutMost ? 1 : (n.value() + kPiece.value() - 1) / kPiece.value();
}
inline Range piece_of(const Range& all, std::uint64_t i) {
  if (all.n <= kUncutMost) return all;
  const Elements at = kPiece * i;
  return all.slice(at, std::min(kPiece, all.n - at));
}

}  // namespace shoal
