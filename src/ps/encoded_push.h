// EncodedPush: encodes the gradients that a worker pushes, and keeps the residual, which the worker
// adds to its next gradient. Seide et al. 2014; in MXNet's servers, with two bits: Chen et al.
// 2015.
//
//   at a push:  v <- G + e;   send each shard its part of c(v);   e <- v - c(v)
//   after the last share of an epoch: push e, not encoded;   e <- 0
//
// Symbols: G the gradient since the last push, e the residual, c the encoding.
// Cost a push: the messages (encoded/message.h) in place of N values; at an epoch's end N values.
// Deviations: the systems of the literature keep e from epoch to epoch, and lose it with a worker.
//   Here e is pushed at an epoch's end, so that a checkpoint lacks no part of a gradient. The
//   optimizer at the servers makes one more update of it.
// Failure: a push is encoded once, and sent again unchanged. The residual is lost with its worker;
//   its shares were not settled, and count as partial then.
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

  // Encodes the gradient of all parameters, a sum over `samples`. `number`: that of this push, over
  // all lives of the worker.
  Task<void> encode(Range g, std::uint64_t samples, std::uint64_t number);
  // The message for a shard, from the last encoding.
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
