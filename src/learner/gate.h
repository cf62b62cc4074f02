// ParameterGate: which of the parameters that a pass needs are there already. The strategy opens it
// range by range, as parameters come; a pass that was begun early waits at each layer for those of
// that layer.
//
//   node's thread   gate.came(at, n)                     whenever a range of the state is complete
//   a learner       co_await gate.until(env, at, n)      between two pieces of work
//                   gate.wait(env, at, n)                in the middle of one, where that can wait
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
  // The pieces lie end to end from 0 on (Learner::pieces): a wait is for whole ones.
  explicit ParameterGate(const Cuts& pieces);
  virtual ~ParameterGate() = default;
  ParameterGate(const ParameterGate&) = delete;
  ParameterGate& operator=(const ParameterGate&) = delete;

  // A range of the parameters is there. REQUIRES: every element comes once.
  void came(Elements at, Elements n);
  // Nothing more will come: who waits, now or later, gets Cancelled, unless its range is open.
  void refuse();

  bool is_open(Elements at, Elements n) const;
  bool all_open() const { return is_open(Elements(0), size_); }
  // Throws Cancelled when the gate refuses.
  Task<void> until(Env& env, Elements at, Elements n);
  Task<void> until_all(Env& env) { return until(env, Elements(0), size_); }
  void wait(Env& env, Elements at, Elements n);
  // False: it refuses. Virtual, so that it runs in the program that made the gate, and not in a
  // copy of this code that is in a plugin: who waits in one is not known to who notifies in the
  // other, since each has a table of its own of the atomics that are waited for.
  virtual bool waited(Env& env, Elements at, Elements n);
  // How long a pass has waited here so far. REQUIRES: it does not wait now.
  Duration time_waited() const { return Duration(waited_ns_.load()); }

 private:
  std::size_t piece_at(Elements at) const;

  Elements size_;
  std::vector<Elements> begins_;
  // Elements of each piece that are still to come.
  std::unique_ptr<std::atomic<std::uint64_t>[]> missing_;
  std::atomic<std::uint32_t> turn_ = 0;  // changes whenever something else does
  std::atomic<bool> refuses_ = false;
  std::atomic<std::int64_t> waited_ns_ = 0;
  Signal changed_;
};

}  // namespace shoal
