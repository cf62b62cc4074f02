#include "runtime/view_watch.h"

#include <exception>
#include <optional>
#include <utility>

#include "base/error.h"

namespace shoal {
namespace {

Task<void> note_end(Task<void> task, bool& done) {
  co_await std::move(task);
  done = true;
}

}  // namespace

Task<bool> ViewWatch::during(Generation view, Task<bool> body) {
  const Context context = co_await current();
  TaskGroup watching(context);
  view_ = view;
  overtaken_ = false;
  watching.spawn(watch());
  bool done = false;
  std::exception_ptr error;
  try {
    done = co_await std::move(body);
  } catch (...) {
    error = std::current_exception();
  }
  watching.cancel();
  co_await watching.join();
  if (error) std::rethrow_exception(error);
  co_return done;
}

Task<void> ViewWatch::watch() {
  try {
    co_await membership_.after(view_);
  } catch (const Fenced&) {
    // The caller that asks for the next view learns of it too.
  }
  overtaken_ = true;
  for (TaskGroup* const group : waiting_) group->cancel();
}

Task<bool> ViewWatch::before_next_view(Task<void> exchange) {
  if (overtaken()) co_return false;
  const Context context = co_await current();
  TaskGroup group(context);
  bool done = false;
  waiting_.push_back(&group);
  group.spawn(note_end(std::move(exchange), done));
  std::exception_ptr error;
  try {
    co_await group.join();
  } catch (...) {
    error = std::current_exception();
  }
  std::erase(waiting_, &group);
  if (error) std::rethrow_exception(error);
  co_return done;
}

Task<void> in_each_view(Node& node, GroupId group, Generation& last, InView body) {
  while (true) {
    ViewPtr view = co_await node.membership.after(last);
    last = view->generation;
    // No range may be reused before the network has released it. Views may have been skipped:
    // messages sent here in those must be dropped too, or their senders would wait for us forever.
    co_await node.endpoint.retire(group, last.previous());
    if (node.membership.now().generation > last) continue;  // the view has changed again meanwhile
    std::optional<PeerLost> lost;
    try {
      const bool done = co_await body(view);
      if (done) co_return;
    } catch (const PeerLost& error) {
      lost = error;
    }
    if (!lost) continue;
    node.env.probe("views: a peer was lost inside one");
    // In a newer view it may be another incarnation, which did nothing wrong.
    if (node.membership.now().generation == last)
      node.membership.suspect(lost->peer(), lost->what());
  }
}

}  // namespace shoal
