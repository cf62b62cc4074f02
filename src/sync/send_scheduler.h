// SendScheduler: the order in which waiting operations begin. A posted send cannot be recalled, so
// only a few operations are under way at a time. The others wait here, and the most urgent one
// begins first.
//
// A collective operation ends only when all members have begun it, but each member decides alone
// which one it begins next. If two members began different operations, both would wait forever. So
// a member that notices that another one has begun an operation begins it too, even above the
// limit. Then every operation that is under way anywhere is begun by all members that have its
// data, and ends.
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
    std::uint64_t place = 0;  // the lowest is next; no two are equal
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
