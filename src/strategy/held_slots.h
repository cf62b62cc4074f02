// The optimizer's slots where each part stays with its owner (Updater::Owners on one host), in
// place of a copy at every worker: to copy them takes as long as to copy the parameters, and nobody
// needs them before the view ends. Rajbhandari et al. 2020 (ZeRO), arXiv:1910.02054, stage 1; but
// any worker that is left can go on, as everywhere in sync.h:
//
//   whole    Replica::slots(), valid when a view begins, and again after gather()
//   held     own part: two arrays by turns, of which a step reads one and makes the other;
//            part of another: read where it lies, in its owner's memory, which outlives the owner
//
// While a step is finished all still hold the slots before it: the part of an owner that is lost
// then is made from them, by everyone for itself (take_over). When the view ends, everyone copies
// what it reads elsewhere (gather), and lets go of it.
//
// Cost: two arrays of N/P a slot and worker, one message more to each other worker a step; a copy
// of N a slot where the state is saved, and when the view ends.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/node.h"
#include "runtime/range.h"
#include "runtime/task.h"
#include "strategy/replica.h"

namespace shoal {

// Thread safety: none; it belongs to the thread of its node.
class HeldSlots {
 public:
  HeldSlots(Node& node, Replica& replica, unsigned slots_each, Substance substance)
      : node_(node), replica_(replica), each_(slots_each), substance_(substance) {}

  // They are whole. `parts` of the parameters, by rank, from now on with their owners; none: they
  // stay whole.
  void begin_view(Cuts parts, Rank own);
  bool held() const { return !parts_.empty(); }

  // ---- The own part, each slot behind the other
  Task<void> prepare();  // once there is a state, before the first step
  bool prepared() const { return prepared_; }
  Range now() { return turns_[turn_]->all(); }
  Range next() { return turns_[1 - turn_]->all(); }
  void stepped() { turn_ = 1 - turn_; }
  Elements own_n() const { return parts_[own_.value()].n; }
  // How many others read them, or will: of now(), and of what the next step overwrites.
  std::uint64_t& lent() { return lent_[turn_]; }
  const std::uint64_t& lent_before() const { return lent_[1 - turn_]; }
  void lent_anew() { lent_ = {}; }

  // ---- Those of others
  Bytes size_of(Rank owner) const;
  void took(Rank owner, Reading there) { there_[owner.value()] = std::move(there); }
  Task<void> take_over(Rank owner);  // from now on this part is in the whole

  // All parts into the whole, as they are now. What is held stays so.
  Task<void> gather();
  // They are whole again: whoever went on reading elsewhere would keep the owners waiting for ever.
  void release();
  // Of all parts as they are now: the same wherever they lie.
  std::uint64_t hash();

 private:
  // Of one slot of a part: where it is now; null for a phantom.
  const float* place(Rank owner, unsigned slot);
  Range whole(Rank owner, unsigned slot);
  bool elsewhere(Rank owner) const;
  Task<void> copy(Rank owner);

  Node& node_;
  Replica& replica_;
  const unsigned each_;
  const Substance substance_;
  // Of the view.
  Cuts parts_;
  Rank own_;
  std::array<std::optional<Arena>, 2> turns_;
  bool prepared_ = false;
  std::size_t turn_ = 0;
  std::array<std::uint64_t, 2> lent_{};
  std::vector<std::optional<Reading>> there_;
};

}  // namespace shoal
