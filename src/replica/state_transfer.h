// Copies the state from one member of the view, the source, to all members that have none or are a
// step behind.
//
//   announce   step, lineage and ledger of the source, which suffice to take part in a step
//   run        the numbers, while others compute. No member changes parameters and slots before all
//              have told (sync_step.h); buffers, which forward passes do change, are sent as they
//              were when the view began
//
// An initial state is not sent: every member can make it.
// Failure: a member with an older state keeps it until the newer one is complete, because the
// source may be lost too.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "collective/group.h"
#include "learner/learner.h"
#include "replica/replica.h"
#include "runtime/node.h"
#include "runtime/task.h"

namespace shoal {

class StateTransfer {
 public:
  // Takes one operation of every view.
  StateTransfer(Node& node, Learner& learner, Replica& replica, std::uint64_t operation)
      : node_(node), learner_(learner), replica_(replica), operation_(operation) {}

  // Begins a view. If a state has not arrived completely, goes back to the state before it.
  void begin();
  // The members of the view agreed on these. If this member is in need, its own state is invalid
  // from now on.
  void agreed(Rank source, std::vector<bool> in_need, Rank own);
  // At the source: makes the initial state.
  void make_initial_state();

  Rank source() const { return source_; }
  const std::vector<bool>& in_need() const { return in_need_; }  // by rank
  bool initial() const { return initial_; }                      // known after announce()
  bool due() const { return due_; }

  Task<void> announce(const Group& group);
  // On return the members in need have the state.
  Task<void> run(const Group& group);

 private:
  // A state's description, which is sent ahead of the numbers: whether it is the initial one, step,
  // lineage, epoch, the samples of earlier epochs by how they ended, and the number of spans that
  // have ended in this epoch. Three words for each span follow.
  using Words = std::array<std::uint64_t, 5 + kSampleEnds>;

  void write_words();
  void read_words();
  Task<void> announce_to(const Group& group, NodeId to);
  Task<void> give(const Group& group, NodeId to);
  Task<void> take(const Group& group, NodeId from);
  Task<void> take_part(const Group& group, NodeId from, std::uint64_t part, MutBuf room);

  Node& node_;
  Learner& learner_;
  Replica& replica_;
  const std::uint64_t operation_;
  // The current view's.
  Rank source_;
  std::vector<bool> in_need_;
  bool initial_ = false;
  bool due_ = false;
  std::optional<Progress> before_;  // of the old state, while a newer one arrives
  // Buffers of transfers live here: a cancelled one may stay busy until its generation is
  // retired.
  Words words_{};
  std::vector<float> rest_;  // the model's buffers when the view began
  std::vector<std::uint64_t> spans_;
};

}  // namespace shoal
