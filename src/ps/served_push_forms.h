// The forms in which a worker pushes its gradient: plain, as factors, in parts, or encoded; and the
// parts that wait at the worker.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ps/client.h"
#include "ps/encoded_push.h"
#include "ps/factored.h"
#include "ps/partial_push.h"
#include "ps/requests.h"
#include "ps/served_context.h"
#include "runtime/channel.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

// Thread safety: none; it belongs to the thread of its node.
class PushForms {
 public:
  explicit PushForms(ServedContext& worker);

  // ---- Before a push of G, which is in the replica's g
  // The factors of the layers of a pass (factored.h).
  Task<void> take_layers(Channel<Ready>& ready);
  // In parts: adds G to the waiting elements, and chooses those that are pushed now. `last`: G has
  // been added.
  Task<void> choose_part(std::uint64_t version, bool last);
  // Encoded: encodes G, unless the epoch of `share` is too early for it.
  Task<void> encode(const Share& share);

  // ---- A push to a shard
  bool factored() const { return !layers_.empty(); }
  Task<void> pack_factors(std::uint32_t shard);
  // The range to send, and its form.
  Range brought(std::uint32_t shard, GradientForm& form) const;
  // Pushes again, as long as the server does not know the keys of the part.
  Task<TrainAnswer> with_keys(TrainRequest request, TrainAnswer answer);

  // ---- What waits
  bool in_parts() const { return parts_.has_value(); }
  bool encodes() const { return encoded_.has_value(); }
  bool holds_back() const;
  // After a read: a worker sees its own updates, also those that the servers have not got yet.
  Task<void> add_waiting(std::uint32_t shard, std::uint64_t version);
  // Everything that waits goes in the next push, as far as the budget allows. Its samples are in
  // the progress. REQUIRES: holds_back().
  Task<void> release(std::uint64_t version);

 private:
  ServedContext& worker_;
  std::vector<Layer> layers_;                  // of the step at hand, ascending
  std::vector<std::optional<Arena>> factors_;  // by shard: where they are packed
  std::vector<Range> packed_;                  // by shard: the factors that are packed there
  std::optional<PartialPush> parts_;           // null: pushes are whole
  std::optional<EncodedPush> encoded_;         // null: pushes are not encoded,
  bool plain_ = false;                         // or not the present one
};

}  // namespace shoal
