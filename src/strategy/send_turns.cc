#include "strategy/send_turns.h"

#include "base/check.h"

namespace shoal {

Task<void> SendTurns::turn(Ticket& ticket) {
  if (ticket.begun) co_return;
  const bool first = waiting_.emplace(ticket.place, &ticket).second;
  SHOAL_CHECK(first, "two wait at place {}", ticket.place);
  call();
  while (!ticket.begun) co_await ticket.called.wait();
}

void SendTurns::heard(Ticket& ticket) {
  if (ticket.begun) return;
  waiting_.erase(ticket.place);
  begin(ticket);
}

void SendTurns::leave() {
  --under_way_;
  call();
}

void SendTurns::begin(Ticket& ticket) {
  ++under_way_;
  ticket.begun = true;
  ticket.called.notify_all();
}

void SendTurns::call() {
  while (under_way_ < at_once_ && !waiting_.empty()) {
    Ticket& next = *waiting_.begin()->second;
    waiting_.erase(waiting_.begin());
    begin(next);
  }
}

}  // namespace shoal
