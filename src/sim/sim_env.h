// A simulated node's Env: virtual time, and work with the costs of the cluster.
#pragma once

#include "base/types.h"
#include "runtime/env.h"
#include "sim/cluster.h"
#include "sim/cpu.h"

namespace shoal {

class World;

class SimEnv final : public Env {
 public:
  SimEnv(World& world, NodeId node, Incarnation incarnation);

  Time now() const override;
  void record(Event event) override;
  void probe(const char* what) override;
  bool buggify(const char* site) override;

  NodeId node() const { return node_; }
  Incarnation incarnation() const { return incarnation_; }

  // Ends a sleep or a piece of work; from the world's pool.
  class Timer final : public CpuJob {
   public:
    void happen() override;
    void discard() override;
    World* world = nullptr;
    SleepOp* sleep = nullptr;
    WorkOp* work = nullptr;
  };

 private:
  void start_sleep(SleepOp& op) override;
  void abort_sleep(SleepOp& op) override;
  void start_work(WorkOp& op) override;
  bool abort_work(WorkOp& op) override;
  Timer& timer();
  void call_off(void*& timer);
  double slowness(Work kind);
  double drawn(const Straggler& straggler);

  World* world_;
  NodeId node_;
  Incarnation incarnation_;
  std::uint64_t works_ = 0;  // so far; numbers this node's straggler draws
  double pass_ = 0;          // slowness of the current pass; 0: none has begun
};

}  // namespace shoal
