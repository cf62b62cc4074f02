// Replica: the state that every worker of a synchronous job holds alike, and the Keeper, which
// holds it when no worker is left.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "base/types.h"
#include "data/ledger.h"
#include "learner/learner.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

// What is agreed on beside the parameters.
struct Progress {
  Step step;           // the next to be reduced; the parameters are those before it
  Generation lineage;  // the view in which this history began: at the start, or from a checkpoint
  LedgerPlace ledger;

  auto operator<=>(const Progress&) const = default;
};

struct Replica {
  // `slots` of optimizer state for each parameter.
  Replica(Endpoint& endpoint, const Learner& learner, Ledger epochs, unsigned slots_each = 0)
      : w(endpoint, learner.layout().all(), learner.substance()),
        g0(endpoint, learner.layout().parameters(), learner.substance()),
        g1(endpoint, learner.layout().parameters(), learner.substance()),
        scratch(endpoint, learner.layout().parameters(), learner.substance()),
        slots(endpoint, learner.layout().parameters() * slots_each, learner.substance()),
        ledger(std::move(epochs)) {}

  Arena w;        // parameters, then the rest of the model's state (learner/layout.h)
  Arena g0, g1;   // gradients of even and of odd steps; see gradient_of
  Arena scratch;  // of the collectives
  Arena slots;    // of the optimizer, one after the other
  Step step;
  Generation lineage;
  Ledger ledger;
  bool valid = false;  // holds a state at all; false for a newcomer
  // The view in which the gradients of the last even and odd steps were reduced.
  std::array<Generation, 2> reduced_in{};

  bool alone = false;  // nobody will ever ask for a reduced gradient: one buffer does

  // Reduced gradients are kept until the first collective of the next step completes, because
  // others may need them till then. Two buffers do that: the one of step t is written again only by
  // step t+2, and that begins after t+1 has been reduced.
  Range parameters() { return w.range(Elements(0), g0.size()); }
  Range gradient_of(Step t) { return (alone || t.value() % 2 == 0 ? g0 : g1).all(); }

  Progress progress() const { return {step, lineage, ledger.place()}; }
  void restore(const Progress& progress) {
    step = progress.step;
    lineage = progress.lineage;
    ledger.restore(progress.ledger);
    valid = true;
  }
};

// Keeps the state where it outlives every process. Implemented by train/, on checkpoints.
class Keeper {
 public:
  virtual ~Keeper() = default;
  // Done = it survives any crash.
  virtual Task<void> save(const Replica& replica) = 0;
  // The newest state saved into `replica`'s parameters, ledger and step; false: there is none.
  virtual Task<bool> load(Replica& replica) = 0;
};

}  // namespace shoal
