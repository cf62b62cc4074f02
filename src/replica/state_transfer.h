// How the state comes to those who have none, or are a step behind: from one member of the view,
// the source, to all in need of it.
//
//   announce   where the source stands: step, lineage, ledger. That suffices to take part in a step
//   run        the numbers, while others compute: nobody changes parameters and slots before all
//              have told (sync_step.h), and what forward passes change is sent as it was before
//
// An initial state is not sent: everyone can make it.
// Failure: whoever has an older state keeps it until the later one is complete, for its source may
// be lost, too.
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

  // A new view. A state that was to come, and did not, is given up for the one before it.
  void begin();
  // What the view has agreed on. The own state does not count any more if it is among those.
  void agreed(Rank source, std::vector<bool> in_need, Rank own);
  // At the source: from what all know.
  void make_initial_state();

  Rank source() const { return source_; }
  const std::vector<bool>& in_need() const { return in_need_; }  // by rank
  bool initial() const { return initial_; }                      // known after announce()
  bool due() const { return due_; }

  Task<void> announce(const Group& group);
  // Whoever was in need has the state at the end.
  Task<void> run(const Group& group);

 private:
  // A state in words, as it travels ahead of the numbers: whether it is the initial one, step,
  // lineage, epoch, how many samples ended how before it, how many spans have ended in it. Then
  // three words for each of these.
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
  // Of the view.
  Rank source_;
  std::vector<bool> in_need_;
  bool initial_ = false;
  bool due_ = false;
  std::optional<Progress> before_;  // of the state that is here while a later one is to come
  // Buffers of exchanges live here: a cancelled one may be busy until its generation is retired.
  Words words_{};
  std::vector<float> rest_;  // of the state, as it was when the view began
  std::vector<std::uint64_t> spans_;
};

}  // namespace shoal
