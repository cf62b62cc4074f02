// ViewWatch: what the members of a view do together, which ends when there is a newer one.
//
//   const bool done = co_await watch.during(view->generation, to_the_end(group));
//   // inside of it, whatever waits for other members:
//   const bool all = co_await watch.before_next_view(all_reduce(..));
//
// One watch for the whole view: a race in every step would end its loser in every step, by an
// exception, for which the step of a small model is too short.
#pragma once

#include <functional>
#include <vector>

#include "runtime/membership.h"
#include "runtime/node.h"
#include "runtime/task.h"
#include "runtime/task_group.h"

namespace shoal {

// Thread safety: none; it belongs to the thread of its node.
class ViewWatch {
 public:
  explicit ViewWatch(Membership& membership) : membership_(membership) {}

  // Runs `body`, which goes on until it notices, or ends by itself.
  Task<bool> during(Generation view, Task<bool> body);
  // There is a newer view than that of during().
  bool overtaken() const { return overtaken_ || membership_.now().generation > view_; }
  // False: it was cancelled for a newer view, or not begun where one is known.
  Task<bool> before_next_view(Task<void> exchange);

 private:
  Task<void> watch();

  Membership& membership_;
  Generation view_;
  bool overtaken_ = false;
  std::vector<TaskGroup*> waiting_;  // until there is a newer view
};

// What a node does in a view, with its members; true: that was the last one.
using InView = std::function<Task<bool>(ViewPtr)>;

// In one view after the other, until it is done. Before each the network has let go of the ranges
// that were used in those before. Whoever is lost in one is suspected. `last` is the view that the
// node is or was in; all of it is retired but that one.
Task<void> in_each_view(Node& node, GroupId group, Generation& last, InView body);

}  // namespace shoal
