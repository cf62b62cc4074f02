// ViewWatch: runs what the members of a view do together, and ends it when there is a newer view.
//
//   const bool done = co_await watch.during(view->generation, to_the_end(group));
//   // inside of it, everything that waits for other members:
//   const bool all = co_await watch.before_next_view(all_reduce(..));
//
// One watch serves the whole view: a race in every step would end its loser in every step by an
// exception, which is slow beside the step of a small model.
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

  // Runs `body`, which continues until it notices a new view, or ends by itself.
  Task<bool> during(Generation view, Task<bool> body);
  // Whether there is a newer view than that of during().
  bool overtaken() const { return overtaken_ || membership_.now().generation > view_; }
  // False: it was cancelled for a newer view, or not begun because one is known.
  Task<bool> before_next_view(Task<void> exchange);

 private:
  Task<void> watch();

  Membership& membership_;
  Generation view_;
  bool overtaken_ = false;
  std::vector<TaskGroup*> waiting_;  // they are cancelled at the next view
};

// The program of a node in a view, with its members; true: that was the last view.
using InView = std::function<Task<bool>(ViewPtr)>;

// Runs the program in one view after the other until it is done. Before each view the network has
// released the ranges of earlier ones. Peers lost in a view are suspected. `last` is the present or
// last view of the node; all earlier ones are retired.
Task<void> in_each_view(Node& node, GroupId group, Generation& last, InView body);

}  // namespace shoal
