// What a worker pushes where gradients are encoded, and what waits meanwhile: the rest of what was
// sent, which the worker adds to its next gradient. Seide et al. 2014; as MXNet's servers have it:
// Chen et al. 2015, with two bits.
//
//   at a push:  v <- G + e;   c(v) goes to the shards, to each its part;   e <- v - c(v)
//   after the last share of an epoch: e goes as it is, in a push of its own;   e <- 0
//
// Symbols: G the gradient since the last push, e what waits, c the encoding.
// Cost a push: the messages (encoded/message.h) in place of N values; at an epoch's end N values.
// Deviations: the systems of the literature keep e from epoch to epoch, and lose it with a worker.
//   Here nothing is left at an epoch's end, so that what is saved then owes nothing to anyone. The
//   optimizer at the servers makes an update more of it.
// Failure: a push is encoded once, and sent again as it is. What waits is lost with its worker; the
//   shares that it was of were not settled, and count as partial then.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/types.h"
#include "encoded/encoder.h"
#include "ps/shard_map.h"
#include "runtime/node.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

class EncodedPush {
 public:
  // `encodings`: of each piece.
  EncodedPush(Node& node, Cuts pieces, std::span<const Encoding> encodings,
              const std::vector<ShardCut>& cuts, Substance substance);

  // Of all parameters; the sum over as many samples. `number` is of this push, in all its lives.
  Task<void> encode(Range g, std::uint64_t samples, std::uint64_t number);
  // The message for a shard, of what was encoded last.
  Range packed(std::uint32_t shard) const { return outgoing_[shard].packed; }

  // Whether something waits; and g <- that, with nothing left.
  bool holds_back() const { return waits_; }
  Task<void> release(Range g);
  std::uint64_t samples() const { return samples_; }  // of the last push

 private:
  struct Outgoing {
    std::optional<Arena> room;
    Range packed;
  };

  Node& node_;
  const std::vector<ShardCut>& cuts_;
  Encoder encoder_;
  bool keeps_residual_;
  bool waits_ = false;
  std::uint64_t samples_ = 0;
  std::vector<Outgoing> outgoing_;  // by shard
};

}  // namespace shoal
