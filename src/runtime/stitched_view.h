// StitchedView: shows an array whose shards belong to several nodes of one host as one array.
// Shards that can be mapped from their owner's memory are not copied (Endpoint::show); others are.
//
//   StitchedView seen(N, Substance::Real);
//   co_await seen.set(node, part, reading.data());   // for every owner; repeats cost nothing
//   co_await learner.gradient(env, seen.all(), ...);
//   seen.forget();                                   // before the owners' memory is replaced
#pragma once

#include <cstdint>
#include <map>

#include "runtime/node.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

// Thread safety: none; it belongs to the thread of its node. Read-only: the system refuses writes
// to mapped shards.
class StitchedView {
 public:
  StitchedView(Elements n, Substance substance);

  Range all() { return room_.all(); }
  // Shows this memory as the shard. `node` reads it or has it from allocate(), and it must not
  // change while all() is used. Null: a phantom's.
  Task<void> set(Node& node, Cut part, const float* there);
  // Unmaps everything. Until set again a shard's content is undefined.
  void forget();

 private:
  struct Seen {
    const float* there;
    Elements n;  // mapped from the beginning on
  };
  Elements look_at(Node& node, const Range& room, const float* there);

  Arena room_;
  std::map<Elements, Seen> seen_;  // by the beginning of the shard
};

}  // namespace shoal
