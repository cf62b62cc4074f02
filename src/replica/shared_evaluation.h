// Evaluation by all members of a view together, and through views.
//
//   the samples held out are cut into blocks, the same however many members there are
//   tell which blocks are known here; those that nobody knows are dealt out in the order of ranks
//   evaluate the own ones, one after the other, and keep each
//   tell the scores; the total is added up in the order of blocks
//
// Cost: two all-gathers, 1/P of the samples. The total has the same bits for any number of members.
// Failure: what was evaluated stays known to whoever did it; the next view goes on with the rest.
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

  // What is known of any state is so no more.
  void forget() { blocks_.clear(); }
  // Of the replica's state, which all members hold alike. Takes `operation` and the next one.
  Task<Score> run(const Group& group, std::uint64_t operation);

 private:
  static constexpr std::uint64_t kBlocks = 32;

  // Blocks of another state are forgotten.
  void begin();
  std::uint64_t known() const;  // a bit for each block
  Task<void> evaluate(Env& env, std::uint64_t block);

  Learner& learner_;
  Replica& replica_;
  Step step_;
  Generation lineage_;
  std::vector<std::optional<Score>> blocks_;
  Gathering bits_, scores_;
};

}  // namespace shoal
