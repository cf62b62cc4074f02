#include "runtime/operation.h"

#include "base/error.h"

namespace shoal {

CancelScope::CancelScope(CancelScope* parent) {
  if (parent == nullptr) return;
  cancelled_ = parent->cancelled_;
  parent->children_.push_back(*this);
}

CancelScope::~CancelScope() { unlink(); }

void CancelScope::cancel() {
  if (cancelled_) return;
  cancelled_ = true;
  children_.each([](CancelScope& child) { child.cancel(); });
  // Aborting one operation may end others of the same All, so restart from the front each time.
  while (Operation* op = operations_.find([](Operation& o) { return !o.cancel_requested_; }))
    op->request_cancel();
}

void Operation::begin(const Context& context, detail::Waiter& waiter) {
  SHOAL_CHECK(waiter_ == nullptr, "an operation was awaited twice");
  context_ = context;
  if (context.scope->cancelled()) {
    if (!starts_when_cancelled()) {
      error_ = std::make_exception_ptr(Cancelled());
      return;
    }
    cancel_requested_ = true;
  }
  waiter_ = &waiter;
  ++waiter.pending;
  context.scope->operations_.push_back(*this);
  start();
}

void Operation::request_cancel() {
  if (!pending() || cancel_requested_) return;
  cancel_requested_ = true;
  if (!abort()) return;
  error_ = std::make_exception_ptr(Cancelled());
  finish();
}

void Operation::finish() {
  if (cancel_requested_ && !error_) error_ = std::make_exception_ptr(Cancelled());
  detail::Waiter& waiter = *std::exchange(waiter_, nullptr);
  unlink();
  --waiter.pending;
  if (error_) {
    for (unsigned i = 0; i < waiter.sibling_count; ++i) waiter.siblings[i]->request_cancel();
  }
  if (waiter.pending == 0 && !waiter.starting) {
    // A second finish of the same All, nested in the cancel above, has already posted.
    const std::coroutine_handle<> handle = std::exchange(waiter.handle, nullptr);
    if (handle) waiter.executor->post(handle);
  }
}

std::exception_ptr detail::first_error(Operation* const* operations, unsigned count) {
  std::exception_ptr cancelled;
  for (unsigned i = 0; i < count; ++i) {
    std::exception_ptr error = operations[i] == nullptr ? nullptr : operations[i]->error();
    if (!error) continue;
    try {
      std::rethrow_exception(error);
    } catch (const Cancelled&) {
      cancelled = error;
    } catch (...) {
      return error;
    }
  }
  return cancelled;
}

}  // namespace shoal
