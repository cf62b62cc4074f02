// Replica: the state that all workers of a synchronous job hold alike, and the state that belongs
// to single workers. CheckpointStore: keeps it on storage for the case that no worker is left.
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

// The state, besides the parameters, that workers agree on.
struct Progress {
  Step step;           // the next step to reduce; the parameters are those before it
  Generation lineage;  // the view in which this history began, at the start or from a checkpoint
  LedgerPlace ledger;

  auto operator<=>(const Progress&) const = default;
};

// An array that belongs to one worker, as it is saved and loaded (per_worker_state.h).
struct KeptArray {
  NodeId node;  // the worker
  std::string name;
  ConstBuf numbers;
  std::shared_ptr<const void> hold;  // keeps `numbers` alive
};

struct Replica {
  // `slots_each`: numbers of optimizer state per parameter.
  Replica(Endpoint& endpoint, const Learner& learner, Ledger epochs, unsigned slots_each = 0)
      : N(learner.layout().parameters()),
        ledger(std::move(epochs)),
        endpoint_(&endpoint),
        substance_(learner.substance()) {
    gradients_[0].emplace(endpoint, N, substance_);
    add_copy(learner.layout().all(), N * slots_each);
  }

  const Elements N;
  Step step;  // the state is the one before this step
  Generation lineage;
  Ledger ledger;
  bool valid = false;  // whether it holds a state; false for a newcomer
  // Arrays of all workers: to be saved with the state, or just loaded.
  std::vector<KeptArray> kept;

  // The gradient of the current step, and scratch memory of the same size for collectives, which is
  // allocated at the first use: a single worker never needs it.
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

  // The state: parameters, then the model's buffers (running statistics; learner/layout.h); and the
  // optimizer's slots, one after the other.
  Range w() { return seen_.value_or(whole_w()); }
  Range slots() { return copies_[now_].slots.all(); }
  Range parameters() { return w().slice(Elements(0), N); }
  Range buffers() { return w().slice(N, w().n - N); }

  // While owners hold the current parts of the parameters (sync/sharded_state.h), w() is a
  // read-only view over all parts. whole_w() is this worker's own array, out of date meanwhile.
  void see(Range w) { seen_ = w; }
  void see_whole() { seen_.reset(); }
  Range whole_w() { return copies_[now_].w.all(); }

  // Where an update that is not in place writes the next state; exchange_copies() makes it current.
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
  // Allocated at the first use: most runs never need it.
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

// Keeps the state on storage that outlives every process. Implemented by train/, as checkpoints.
class CheckpointStore {
 public:
  virtual ~CheckpointStore() = default;
  // On return the state survives any crash.
  virtual Task<void> save(Replica& replica) = 0;
  // Loads the newest saved state into `replica`'s state, ledger and step, and the workers' own
  // arrays into `kept`. Returns false if there is none.
  virtual Task<bool> load(Replica& replica) = 0;
};

}  // namespace shoal
