#include "sync/send_scheduler.h"

#include "base/check.h"

namespace shoal {

Task<void> SendScheduler::turn(Ticket& ticket) {
  if (ticket.begun) co_return;
  const bool first = waiting_.emplace(ticket.place, &ticket).second;
  SHOAL_CHECK(first, "two wait at place {}", ticket.place);
  call();
  while (!ticket.begun) co_await ticket.called.wait();
}

void SendScheduler::heard(Ticket& ticket) {
  if (ticket.begun) return;
  waiting_.erase(ticket.place);
  begin(ticket);
}

void SendScheduler::leave() {
  --under_way_;
  call();
}

void SendScheduler::begin(Ticket& ticket) {
  ++under_way_;
  ticket.begun = true;
  ticket.called.notify_all();
}

void SendScheduler::call() {
  while (under_way_ < at_once_ && !waiting_.empty()) {
    Ticket& next = *waiting_.begin()->second;
    waiting_.erase(waiting_.begin());
    begin(next);
  }
}

}  // namespace shoal
