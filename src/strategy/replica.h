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

// How many copies of the state a replica holds. Two: a step reads one and writes the other, so that
// a step that fails half-way has changed nothing, and whoever is a step ahead can still go with the
// others. One: nobody else will ever take part, and updates are made in place.
enum class Copies : std::uint8_t { One, Two };

struct Replica {
  // `slots_each` numbers of optimizer state for each parameter.
  Replica(Endpoint& endpoint, const Learner& learner, Ledger epochs, unsigned slots_each = 0,
          Copies held = Copies::Two)
      : copies(held),
        N(learner.layout().parameters()),
        g(endpoint, N, learner.substance()),
        scratch(endpoint, second(N), learner.substance()),
        ledger(std::move(epochs)),
        w_{{{endpoint, learner.layout().all(), learner.substance()},
            {endpoint, second(learner.layout().all()), learner.substance()}}},
        slots_{{{endpoint, N * slots_each, learner.substance()},
                {endpoint, second(N * slots_each), learner.substance()}}} {}

  const Copies copies;
  const Elements N;
  Arena g;        // the gradient of the step at hand
  Arena scratch;  // of the collectives
  Step step;
  Generation lineage;
  Ledger ledger;
  bool valid = false;  // holds a state at all; false for a newcomer

  // The state before a step: parameters, then the rest of the model's state (learner/layout.h), and
  // the optimizer's slots, one after the other. Overwritten by that before step t + 2, when all
  // members have that before t + 1.
  Range w(Step t) { return w_[index(t)].all(); }
  Range slots(Step t) { return slots_[index(t)].all(); }
  Range w() { return w(step); }
  Range slots() { return slots(step); }
  Range parameters() { return w().slice(Elements(0), N); }
  Range rest(Step t) { return w(t).slice(N, w(t).n - N); }

  Progress progress() const { return {step, lineage, ledger.place()}; }
  void restore(const Progress& progress) {
    step = progress.step;
    lineage = progress.lineage;
    ledger.restore(progress.ledger);
    valid = true;
  }

 private:
  std::size_t index(Step t) const { return copies == Copies::One ? 0 : t.value() % 2; }
  Elements second(Elements n) const { return copies == Copies::One ? Elements(0) : n; }

  std::array<Arena, 2> w_, slots_;  // of even and of odd steps
};

// Keeps the state where it outlives every process. Implemented by train/, on checkpoints.
class Keeper {
 public:
  virtual ~Keeper() = default;
  // Done = it survives any crash.
  virtual Task<void> save(Replica& replica) = 0;
  // The newest state saved into `replica`'s state, ledger and step; false: there is none.
  virtual Task<bool> load(Replica& replica) = 0;
};

}  // namespace shoal
