#include "transport/live_endpoint.h"

#include "base/error.h"

namespace shoal {

void LiveEndpoint::fence(const std::string& why) {
  if (state_ != State::Open) return;
  state_ = State::Fencing;
  fenced_ = std::make_exception_ptr(Fenced(why));
  quiesce([this, why] {
    state_ = State::Fenced;
    Event event;
    event.kind = EventKind::FencedOut;
    env_->record(event);
    fail_receives(fenced_);
    for (SendOp* op : std::exchange(parked_, {})) op->failed_with(fenced_);
    if (fenced_hook_) fenced_hook_(why);
  });
}

}  // namespace shoal
