#include "runtime/task_group.h"

#include "base/error.h"

namespace shoal {
namespace {

bool is_cancelled(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Cancelled&) {
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace

void detail::PromiseBase::finished() noexcept {
  if (group != nullptr) {
    group->child_finished(*this);
  } else if (continuation) {
    context.executor->post(continuation);
  }
}

TaskGroup::TaskGroup(const Context& parent) : context_(parent), scope_(parent.scope) {
  context_.scope = &scope_;
}

TaskGroup::~TaskGroup() {
  SHOAL_CHECK_EQ(running_, 0U, "a task group ended before its tasks");
  reap();
}

void TaskGroup::spawn(Task<void> task) {
  reap();
  const auto handle = task.release();
  detail::PromiseBase& promise = handle.promise();
  promise.context = context_;
  promise.group = this;
  ++running_;
  context_.executor->post(handle);
}

void TaskGroup::child_finished(detail::PromiseBase& promise) {
  // The frame is in its final suspension now. It is freed later, with the next one or at the
  // group's end.
  reap();
  finished_.push_back(promise);
  --running_;
  if (promise.error) {
    const bool expected = scope_.cancelled() && is_cancelled(promise.error);
    // An operation may be cancelled alone (by retire); a later error tells more.
    if (!expected && (!error_ || is_cancelled(error_))) error_ = promise.error;
    scope_.cancel();
  }
  if (running_ == 0 && join_ != nullptr) std::exchange(join_, nullptr)->complete();
}

void TaskGroup::reap() {
  while (!finished_.empty()) finished_.pop_front().self.destroy();
}

void TaskGroup::Join::start() {
  SHOAL_CHECK(group_->join_ == nullptr, "a task group was joined twice");
  if (group_->running_ == 0) return complete();
  group_->join_ = this;
}

}  // namespace shoal
