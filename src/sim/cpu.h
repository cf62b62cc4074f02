// The cores of a simulated host, shared by the work on it.
//
// A node's work waits in lines, as it does live (runtime/env.h): work on its model, on exchanges,
// and on files. One piece of each line runs at a time, in order. All pieces on a host share its
// cores evenly, less the cores that links take while they carry messages: each piece runs at the
// rate min(1, free cores / pieces). With a core for each piece, a piece takes exactly its cost.
//
// Cost: each change of the rate touches all running pieces of the host.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/types.h"
#include "runtime/env.h"
#include "sim/event_queue.h"

namespace shoal {

class World;

// Pieces of work that run in order.
class CpuLine;

// A piece of work. Its effect happens at its end, to its node.
class CpuJob : public Occurrence {
 public:
  CpuLine* line = nullptr;  // while it waits or runs

 private:
  friend class Cpu;
  Duration cost_{};
  Time end_{};  // at the present rate
  std::uint64_t number_ = 0;
};

class CpuLine {
  friend class Cpu;
  std::vector<CpuJob*> jobs_;  // the first one runs; queues are short, and most nodes have none
};

// The lines of a node.
class NodeLines {
 public:
  // A node without a compute thread has one line for everything.
  explicit NodeLines(bool one_thread) : one_thread_(one_thread) {}
  CpuLine& line_of(const WorkOp& op);

 private:
  std::array<CpuLine, 3> lines_;
  bool one_thread_;
};

class Cpu {
 public:
  Cpu(World& world, unsigned cores, double slow);

  double slow;  // the factor for a piece that starts now

  void start(CpuLine& line, CpuJob& job, Duration cost);
  // The job never ends. REQUIRES: it waits or runs.
  void revoke(CpuJob& job);
  // Changes the number of cores that links take.
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
  void look();  // finds the jobs that have ended

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
