// ShardedState: the state whose parts stay with their owners (one_host_reduction.h), without copies
// at other workers: the optimizer's slots, which no other worker needs before the view ends, and
// large parameters, which all read in their owners' memory. Rajbhandari et al. 2020 (ZeRO),
// arXiv:1910.02054, stage 1; but any remaining worker can continue, as everywhere in sync.h:
//
//   whole    w and slots of the Replica, valid when a view begins, and again after gather()
//   held     own part: two alternating arrays; a step reads one and writes the other;
//            part of another: read in its owner's memory, which outlives the owner
//   seen     the held parameters of all as one array (runtime/stitched_view.h), as Replica::w()
//
// While a step is finished, all still hold the state before it: if an owner is lost then, each
// worker computes its part from that state (take_over). When the view ends, each worker copies the
// parts that it reads elsewhere (gather), and releases them.
//
// Cost: two arrays of N/P a slot and worker, one message to each other worker a step; a copy of N a
// slot when the state is saved, and when the view ends. Held parameters have no other copies: fewer
// writes, and shared caches hold more of them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "replica/replica.h"
#include "runtime/node.h"
#include "runtime/range.h"
#include "runtime/stitched_view.h"
#include "runtime/task.h"

namespace shoal {

// Thread safety: none; it belongs to the thread of its node.
class ShardedState {
 public:
  ShardedState(Node& node, Replica& replica, unsigned slots_each, Substance substance)
      : node_(node), replica_(replica), slots_each_(slots_each), substance_(substance) {}

  // The state is whole. From now on the `parts`, by rank, stay with their owners; none: everything
  // stays whole. `parameters`: parameters are held too, not only slots.
  void begin_view(Cuts parts, Rank own, bool parameters);
  bool held() const { return !parts_.empty(); }
  bool parameters_held() const { return held() && parameters_; }

  // ---- The own part, its arrays in order
  Task<void> prepare();  // once there is a state, before the first step
  bool prepared() const { return prepared_; }
  struct Part {
    Range w;  // none: the parameters are whole
    Range slots;
    Range all;
  };
  Part now() { return part_of_turn(turn_); }
  Part next() { return part_of_turn(1 - turn_); }
  void stepped() { turn_ = 1 - turn_; }
  Elements own_n() const { return parts_[own_.value()].n; }
  // How many others read the current array or the one that the next step overwrites, or will.
  std::uint64_t& lent() { return lent_[turn_]; }
  const std::uint64_t& lent_before() const { return lent_[1 - turn_]; }
  void lent_anew() { lent_ = {}; }

  // ---- The parts of others
  Bytes size_of(Rank owner) const;
  // After a step, whose state this is.
  Task<void> took(Rank owner, Reading& there);
  Task<void> take_over(Rank owner);  // from now on this part is in the whole
  // All parts were taken: shows the current held parameters.
  Task<void> see();

  // Copies all current parts into the whole state. Held parts stay held, but are not shown any
  // more.
  Task<void> gather();
  // The state is whole again. A member that continued to read parts elsewhere would keep their
  // owners waiting forever.
  void release();
  // The hash of all current slots, independent of their owners.
  std::uint64_t hash_of_slots();

 private:
  unsigned arrays() const { return slots_each_ + (parameters_ ? 1 : 0); }
  Part part_of_turn(std::size_t turn);
  // The current address of one array of a part, the parameters first if they are held; null for a
  // phantom.
  const float* place(Rank owner, unsigned array);
  Range whole(Rank owner, unsigned array);
  bool elsewhere(Rank owner) const;
  Task<void> copy(Rank owner);

  Node& node_;
  Replica& replica_;
  const unsigned slots_each_;
  const Substance substance_;
  // The view's.
  Cuts parts_;
  Rank own_;
  bool parameters_ = false;
  std::array<std::optional<Arena>, 2> turns_;
  Elements before_own_;  // in turns_: see begin_view()
  bool prepared_ = false;
  std::size_t turn_ = 0;
  std::array<std::uint64_t, 2> lent_{};
  std::vector<std::optional<Reading>> there_;
  std::array<std::optional<StitchedView>, 2> seen_;  // alternating
};

}  // namespace shoal
