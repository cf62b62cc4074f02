// SendScheduler: what is sent next of what waits. A posted send cannot be recalled, so few are
// under way at a time, and the rest waits here, where whatever is needed first overtakes it.
//
// All members of a collective operation have to begin it, and each decides by what it has: one may
// have begun an operation that another has not come to, and both would wait for ever. So whoever
// hears that another has begun begins as well, though as many are under way as may be. Of all that
// are under way anywhere each is then begun by everyone who has what it needs, and ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "runtime/channel.h"
#include "runtime/task.h"

namespace shoal {

// Thread safety: none; it belongs to the thread of its node.
class SendScheduler {
 public:
  struct Ticket {
    std::uint64_t place = 0;  // the lowest is next; of each place there is one
    bool begun = false;
    Signal called{};
  };

  explicit SendScheduler(std::size_t at_once) : at_once_(at_once) {}

  // Done when it may begin. The ticket outlives this, and leave() follows.
  Task<void> turn(Ticket& ticket);
  // Another member has begun it.
  void heard(Ticket& ticket);
  void leave();

  std::size_t under_way() const { return under_way_; }

 private:
  void begin(Ticket& ticket);
  void call();

  std::size_t at_once_;
  std::size_t under_way_ = 0;
  std::map<std::uint64_t, Ticket*> waiting_;
};

}  // namespace shoal
