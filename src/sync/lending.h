// Lending: ranges of this worker that its peers read in place. A range may be overwritten when all
// of them have read it, or are lost.
//
//   lend(loan, range)    the peers may read it from now on, also while this worker continues
//   returned(loan)       waits until no peer reads it any more
//
// The gradient alternates between two loans, because the next gradient is computed while peers
// still read the last one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "collective/group.h"
#include "runtime/channel.h"
#include "runtime/range.h"
#include "runtime/task.h"
#include "runtime/task_group.h"

namespace shoal {

// The number of peers that read a range, or will.
using Loan = std::uint64_t;

// How long the peers read: once, or until the next step replaces the range.
enum class Reads : std::uint8_t { Once, UntilNextStep };

// Thread safety: none; it belongs to the thread of its node.
class Lending {
 public:
  // A view begins, in which these tasks lend. Nothing is on loan.
  void begin_view(TaskGroup& tasks) {
    tasks_ = &tasks;
    gradients_ = {};
    state_ = 0;
  }
  // A task that ends with the view.
  void spawn(Task<void> task) { tasks_->spawn(std::move(task)); }

  // Lends to all other members. The loan outlives the tasks of the view.
  void lend(const Group& group, Loan& loan, Range range, std::uint64_t operation,
            Reads reads = Reads::Once);
  Task<void> returned(const Loan& loan);

  Loan& gradient() { return gradients_[turn_]; }
  void next_gradient() { turn_ = 1 - turn_; }
  Loan& state() { return state_; }

 private:
  Task<void> lend_to(const Group& group, NodeId to, Tag tag, Range range, Loan& loan, Reads reads);

  TaskGroup* tasks_ = nullptr;
  std::array<Loan, 2> gradients_{};
  std::size_t turn_ = 0;
  Loan state_ = 0;
  Signal returned_;
};

}  // namespace shoal
