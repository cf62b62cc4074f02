// All members of a view evaluate together; a change of the view does not lose finished work.
//
//   cut the held-out samples into blocks, the same for any number of members
//   all-gather which blocks are known here; deal the unknown ones out in the order of ranks
//   evaluate the own blocks, one after the other, and keep each score
//   all-gather the scores; add them up in the order of blocks
//
// Cost: two all-gathers, 1/P of the samples. The total has the same bits for any number of members.
// Failure: a member keeps the blocks that it has evaluated; the next view evaluates the others.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/types.h"
#include "collective/dissemination.h"
#include "collective/group.h"
#include "learner/learner.h"
#include "replica/replica.h"
#include "runtime/task.h"

namespace shoal {

class SharedEvaluation {
 public:
  SharedEvaluation(Learner& learner, Replica& replica) : learner_(learner), replica_(replica) {}

  // Forgets the blocks of all states.
  void forget() { blocks_.clear(); }
  // Evaluates the replica's state, which all members hold alike. Takes `operation` and the next
  // one.
  Task<Score> run(const Group& group, std::uint64_t operation);

 private:
  static constexpr std::uint64_t kBlocks = 32;

  // Forgets blocks of another state.
  void begin();
  std::uint64_t known() const;  // one bit per known block
  Task<void> evaluate(Env& env, std::uint64_t block);

  Learner& learner_;
  Replica& replica_;
  Step step_;
  Generation lineage_;
  std::vector<std::optional<Score>> blocks_;
  Gathering bits_, scores_;
};

}  // namespace shoal
