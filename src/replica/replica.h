// Replica: the state that every worker of a synchronous job holds alike, and the CheckpointStore,
// which holds it when no worker is left; beside it what each worker has that no other does.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

// Numbers that one worker had and no other, as they are saved and loaded (per_worker_state.h).
struct KeptArray {
  NodeId node;  // the worker
  std::string name;
  ConstBuf numbers;
  std::shared_ptr<const void> hold;  // keeps them readable
};

struct Replica {
  // `slots_each` numbers of optimizer state for each parameter.
  Replica(Endpoint& endpoint, const Learner& learner, Ledger epochs, unsigned slots_each = 0)
      : N(learner.layout().parameters()),
        ledger(std::move(epochs)),
        endpoint_(&endpoint),
        substance_(learner.substance()) {
    gradients_[0].emplace(endpoint, N, substance_);
    add_copy(learner.layout().all(), N * slots_each);
  }

  const Elements N;
  Step step;  // the state is that before it
  Generation lineage;
  Ledger ledger;
  bool valid = false;  // holds a state at all; false for a newcomer
  // Of all workers: what a checkpoint store saves beside the state, and what it has loaded.
  std::vector<KeptArray> kept;

  // The gradient of the step at hand; and as much memory beside it, of the collectives, which is
  // made when it is first asked for: one worker alone never does.
  Arena& g() { return *gradients_[g_now_]; }
  Arena& scratch() {
    std::optional<Arena>& other = gradients_[1 - g_now_];
    if (!other) other.emplace(*endpoint_, N, substance_);
    return *other;
  }
  void exchange_gradients() {
    scratch();
    g_now_ = 1 - g_now_;
  }

  // The state: parameters, then the model's buffers (running statistics; learner/layout.h), and the
  // optimizer's slots, one after the other.
  Range w() { return seen_.value_or(whole_w()); }
  Range slots() { return copies_[now_].slots.all(); }
  Range parameters() { return w().slice(Elements(0), N); }
  Range buffers() { return w().slice(N, w().n - N); }

  // While parts of the parameters are with their owners (held_parts.h): where they are seen as one,
  // to be read only; and the own array, in which they are not up to date then.
  void see(Range w) { seen_ = w; }
  void see_whole() { seen_.reset(); }
  Range whole_w() { return copies_[now_].w.all(); }

  // Where the state after the step is made, if not in place: it counts when they are exchanged.
  Range next_w() { return next().w.all(); }
  Range next_slots() { return next().slots.all(); }
  void exchange_copies() { now_ = 1 - now_; }

  Progress progress() const { return {step, lineage, ledger.place()}; }
  void restore(const Progress& progress) {
    step = progress.step;
    lineage = progress.lineage;
    ledger.restore(progress.ledger);
    valid = true;
  }

 private:
  struct Copy {
    Copy(Endpoint& endpoint, Elements all, Elements of_slots, Substance substance)
        : w(endpoint, all, substance), slots(endpoint, of_slots, substance) {}
    Arena w, slots;
  };

  void add_copy(Elements all, Elements of_slots) {
    copies_.emplace_back(*endpoint_, all, of_slots, substance_);
  }
  // Made when it is first asked for: most never need it.
  Copy& next() {
    if (copies_.size() == 1) add_copy(copies_[0].w.size(), copies_[0].slots.size());
    return copies_[1 - now_];
  }

  Endpoint* endpoint_;
  Substance substance_;
  std::array<std::optional<Arena>, 2> gradients_;
  std::size_t g_now_ = 0;
  std::deque<Copy> copies_;
  std::size_t now_ = 0;
  std::optional<Range> seen_;
};

// Keeps the state where it outlives every process. Implemented by train/, on checkpoints.
class CheckpointStore {
 public:
  virtual ~CheckpointStore() = default;
  // Done = it survives any crash.
  virtual Task<void> save(Replica& replica) = 0;
  // The newest state saved into `replica`'s state, ledger and step, and what workers had of their
  // own into `kept`; false: there is none.
  virtual Task<bool> load(Replica& replica) = 0;
};

}  // namespace shoal
