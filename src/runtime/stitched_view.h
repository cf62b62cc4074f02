// StitchedView: an array whose parts lie with several nodes of one host, seen here as one. A part
// that can be looked at in its owner's memory is not copied (Endpoint::show); what cannot is.
//
//   StitchedView seen(N, Substance::Real);
//   co_await seen.set(node, part, reading.data());   // of every owner; nothing, where it still is
//   co_await learner.gradient(env, seen.all(), ...);
//   seen.forget();                                   // before the owners' memory is another
#pragma once

#include <cstdint>
#include <map>

#include "runtime/node.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

// Thread safety: none; it belongs to the thread of its node. Only read from: what is written to a
// part that is looked at elsewhere is refused by the system.
class StitchedView {
 public:
  StitchedView(Elements n, Substance substance);

  Range all() { return room_.all(); }
  // The part is what lies there, in memory that `node` reads or has from allocate(), and does not
  // change while all() is used. Null: a phantom's.
  Task<void> set(Node& node, Cut part, const float* there);
  // Nothing is looked at elsewhere any more. Until it is set again a part is anything.
  void forget();

 private:
  struct Seen {
    const float* there;
    Elements n;  // from its beginning on, without a copy
  };
  Elements look_at(Node& node, const Range& room, const float* there);

  Arena room_;
  std::map<Elements, Seen> seen_;  // by where the part begins
};

}  // namespace shoal
