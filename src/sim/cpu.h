// The cores of a simulated host, shared by whatever runs there.
//
// A node's work waits in lines, as it does live (runtime/env.h): that of its model, that of what is
// exchanged, that of files. Of each line one piece runs at a time, in order. What runs on a host at
// the same time shares its cores evenly, less what its links take of them while they carry
// messages: everything runs at the rate min(1, free cores / pieces). With a core for each piece a
// piece of work takes exactly its cost.
//
// Cost: each change of the rate touches all pieces that run on the host.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/types.h"
#include "runtime/env.h"
#include "sim/event_queue.h"

namespace shoal {

class World;

// Work of which one piece follows the other.
class CpuLine;

// A piece of work. What it stands for happens when it has run, to the node whose it is.
class CpuJob : public Occurrence {
 public:
  CpuLine* line = nullptr;  // while it waits or runs

 private:
  friend class Cpu;
  Duration cost_{};
  Time end_{};  // at the rate of now
  std::uint64_t number_ = 0;
};

class CpuLine {
  friend class Cpu;
  std::vector<CpuJob*> jobs_;  // the first one runs; few wait, and most nodes have none
};

// The lines of a node.
class NodeLines {
 public:
  // A node without a thread of its own for computing has one for everything.
  explicit NodeLines(bool one_thread) : one_thread_(one_thread) {}
  CpuLine& line_of(const WorkOp& op);

 private:
  std::array<CpuLine, 3> lines_;
  bool one_thread_;
};

class Cpu {
 public:
  Cpu(World& world, unsigned cores, double slow);

  double slow;  // a piece that starts takes so much longer

  void start(CpuLine& line, CpuJob& job, Duration cost);
  // It never ends now. REQUIRES: it waits or runs.
  void revoke(CpuJob& job);
  // Links take so much more of the cores from now on, or less.
  void add_load(double cores);

  class Tick final : public Occurrence {
   public:
    void happen() override;
    void discard() override;
    World* world = nullptr;
    Cpu* cpu = nullptr;
  };

 private:
  void run(CpuJob& job);
  void share();
  void await_next();
  void look();  // who has ended

  World* world_;
  unsigned cores_;
  double load_ = 0;
  double rate_ = 1;
  std::vector<CpuJob*> running_;
  std::uint64_t jobs_ = 0;  // so far
  Tick* tick_ = nullptr;
  Time tick_at_{};
};

}  // namespace shoal
