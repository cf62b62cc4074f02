#include "runtime/membership.h"

#include "base/error.h"

namespace shoal {

Task<ViewPtr> Membership::after(Generation generation) {
  while (!fenced_ && view_->generation <= generation) co_await changed_.wait();
  if (fenced_) throw Fenced(fenced_why_);
  co_return view_;
}

void Membership::fail(const std::string& why) {
  if (!fenced_) failed(why);
}

void Membership::fail(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Cancelled&) {
  } catch (const Fenced&) {
  } catch (const std::exception& what) {
    // The first line says what happened; the others are advice.
    const std::string text = what.what();
    fail(text.substr(0, text.find('\n')));
  }
}

void Membership::learn(ViewPtr view) {
  if (view->generation <= view_->generation) return;
  view_ = std::move(view);
  changed_.notify_all();
}

void Membership::learn_fenced(std::string why) {
  if (fenced_) return;
  fenced_ = true;
  fenced_why_ = std::move(why);
  changed_.notify_all();
}

}  // namespace shoal
