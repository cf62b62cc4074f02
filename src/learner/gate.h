// ParameterGate: tells a pass which of its parameters have arrived. The strategy opens the gate
// range by range, as parameters arrive; a pass that was begun early waits at each layer for the
// parameters of that layer.
//
//   node's thread   gate.came(at, n)                     when a range of the state is complete
//   a learner       co_await gate.until(env, at, n)      between two pieces of work
//                   gate.wait(env, at, n)                within a piece, if that can wait
//                                                        (Env::posts)
//
// Thread safety: wait() is called where work runs; all else on the node's thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/types.h"
#include "runtime/channel.h"
#include "runtime/env.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

class ParameterGate {
 public:
  // The pieces are adjacent, from 0 on (Learner::pieces): a wait is for whole pieces.
  explicit ParameterGate(const Cuts& pieces);
  virtual ~ParameterGate() = default;
  ParameterGate(const ParameterGate&) = delete;
  ParameterGate& operator=(const ParameterGate&) = delete;

  // A range of the parameters has arrived. REQUIRES: every element arrives once.
  void came(Elements at, Elements n);
  // Nothing more will arrive: waits, now or later, get Cancelled unless their range is open.
  void refuse();

  bool is_open(Elements at, Elements n) const;
  bool all_open() const { return is_open(Elements(0), size_); }
  // Throws Cancelled when the gate refuses.
  Task<void> until(Env& env, Elements at, Elements n);
  Task<void> until_all(Env& env) { return until(env, Elements(0), size_); }
  void wait(Env& env, Elements at, Elements n);
  // Returns false if the gate refuses. Virtual, so that it runs in the main program and not in a
  // plugin's copy of this code: the plugin has its own table of atomic waiters, which a
  // notification from the program would not reach.
  virtual bool waited(Env& env, Elements at, Elements n);
  // The total time that a pass has waited here. REQUIRES: it does not wait now.
  Duration time_waited() const { return Duration(waited_ns_.load()); }

 private:
  std::size_t piece_at(Elements at) const;

  Elements size_;
  std::vector<Elements> begins_;
  // Missing elements of each piece.
  std::unique_ptr<std::atomic<std::uint64_t>[]> missing_;
  std::atomic<std::uint32_t> turn_ = 0;  // changes with every other field
  std::atomic<bool> refuses_ = false;
  std::atomic<std::int64_t> waited_ns_ = 0;
  Signal changed_;
};

}  // namespace shoal
