// A simulated world: a cluster, a fault plan and a node program, run in one thread in virtual time.
//
//   World world(Cluster::uniform(4, {20us, 1.25e9}), {.seed = Seed(7), .recorder = &recorder});
//   const Outcome outcome = world.run(program);     // the same program that runs live
//
// One seed determines everything. The continuations of a dead node never run: a kill disconnects
// the node's endpoint, files and recorder, and then cancels its tasks. A restart is a new
// incarnation.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/recorder.h"
#include "base/types.h"
#include "runtime/node.h"
#include "runtime/task_group.h"
#include "sim/cluster.h"
#include "sim/coordinator.h"
#include "sim/cpu.h"
#include "sim/event_queue.h"
#include "sim/faults.h"
#include "sim/network.h"
#include "sim/sim_endpoint.h"
#include "sim/sim_env.h"
#include "sim/sim_files.h"

namespace shoal {

struct WorldOptions {
  Seed seed{};
  Recorder* recorder = nullptr;
  FaultPlan faults{};
  CoordinatorOptions coordinator{};  // expected is set to the number of nodes
  // All nodes are in view 1 from the start and are not monitored: for benchmarks and formulas. A
  // job that is asked to end has a second view.
  bool fixed_view = false;
  Duration time_limit = std::chrono::hours(1);  // virtual; a longer run counts as hung
};

struct NodeError {
  NodeId node;
  Incarnation incarnation;
  std::string what;
};

struct Outcome {
  bool finished = false;  // every node's program returned, except those of nodes killed for good
  Time end{};
  std::uint64_t messages = 0;  // matched
  std::uint64_t occurrences = 0;
  std::uint64_t resumptions = 0;  // of coroutines
  std::vector<NodeError> errors;
  FaultCounts fired{};
  std::map<std::string, std::uint64_t> probes;
  std::uint64_t hash = 0;   // over all recorded events and the end time
  std::string waiting_for;  // if it did not finish: which node waits for which
};

// Large class: most methods are one-line answers to the parts of the world (network, disk, clock),
// which see each other through it alone.
class World {
 public:
  World(Cluster cluster, WorldOptions options);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Outcome run(NodeProgram program);

  // Faults, for tests of single scenarios; plans use the same. kill() and freeze() return false,
  // with no effect, if the node is not up (or frozen already).
  bool kill(NodeId node, bool power_loss);
  void restart(NodeId node);  // if it is down
  void restart_at(NodeId node, Time when);
  bool freeze(NodeId node);
  void thaw(NodeId node);
  void at(Time when, std::function<void()> what);
  void at_node(NodeId node, Time when, std::function<void()> what);  // if it is still alive then

  // For the parts of the world.
  Time now() const { return queue_.now(); }
  Seed seed() const { return options_.seed; }
  const Cluster& cluster() const { return cluster_; }
  EventQueue& queue() { return queue_; }
  bool up(NodeId node) const { return slots_[node.value()].state == State::Up; }
  bool same_host(NodeId a, NodeId b) const {
    return cluster_.nodes[a.value()].host == cluster_.nodes[b.value()].host;
  }
  Network& network() { return network_; }
  Coordinator& coordinator() { return coordinator_; }
  SimDisk& disk() { return disk_; }
  Pool<SimEnv::Timer>& timers() { return timers_; }
  Pool<Cpu::Tick>& ticks() { return ticks_; }
  Pool<Packet>& packets() { return packets_; }
  Pool<SimEndpoint::Busy>& busies() { return busies_; }
  SimEndpoint* endpoint(NodeId node) { return &slot(node).life->endpoint; }
  Incarnation incarnation(NodeId node) const { return slots_[node.value()].incarnation; }
  Time started(NodeId node) const { return slots_[node.value()].started; }
  // Whether any program runs, or will run again.
  bool unfinished() const;
  // Whether a heartbeat of that incarnation would be heard now.
  bool hears(NodeId node, Incarnation life) const;
  void each_applicant(const std::function<void(const Member&)>& visit);
  void report(std::function<void()> what);  // to the coordinator
  void end_job(Ending how, const std::string& why);
  void announce(NodeId node, const ViewPtr& view, Duration delay);
  void fence(NodeId node, const std::string& why);

  bool recording() const { return options_.recorder != nullptr; }
  void record(Event&& event);  // `at` is filled in
  void probe(const char* what) { ++probes_[what]; }
  bool buggify(const char* site);
  void count_message() { ++messages_; }
  bool completes_at_once();
  Duration draw_busy();
  Cpu& cpu(NodeId node) { return cpus_[cluster_.nodes[node.value()].host.value()]; }
  NodeLines& lines(NodeId node) { return lines_[node.value()]; }
  void dispatch(Occurrence& occurrence);

 private:
  // The parts of a node that exist while it lives.
  struct Life {
    Life(World& world, NodeId id, Incarnation incarnation);
    SimEnv env;
    SimEndpoint endpoint;
    SimMembership membership;
    SimFiles files;
    Node node;
    TaskGroup tasks;
  };
  enum class State : std::uint8_t { Down, Up, Ending, Done };
  struct Slot {
    State state = State::Down;
    Incarnation incarnation{};
    bool frozen = false;
    bool was_member = false;     // in some view, in this incarnation
    bool restart_again = false;  // after its end, because it was fenced
    Time started{};
    std::unique_ptr<Life> life;
    std::vector<Occurrence*> waiting;  // while frozen
  };
  class Load;
  class Call;

  Slot& slot(NodeId node) { return slots_[node.value()]; }
  Member member(NodeId node) const;
  bool cut_off(NodeId node) const;
  void start(NodeId node);
  Task<void> live(NodeId node);
  void ended(NodeId node, State state);
  void bury();
  void load(HostId host, double cores, Time when);
  void view_arrives(NodeId node, Incarnation life, const ViewPtr& view);
  void fix_view(Ending ending);
  void apply(const Fault& fault);
  bool strike(const Fault& fault);  // returns whether it had any effect
  void undo(const Fault& fault);
  void heal_everything();
  void set_cut(NodeId node, bool cut);
  std::string who_waits();
  std::uint64_t moment_most() const;

  Cluster cluster_;
  WorldOptions options_;
  NodeProgram program_;
  Executor executor_;
  Pool<SimEnv::Timer> timers_;
  Pool<Cpu::Tick> ticks_;
  Pool<Load> loads_;
  Pool<Packet> packets_;
  Pool<SimEndpoint::Busy> busies_;
  EventQueue queue_;
  Network network_;
  Coordinator coordinator_;
  SimDisk disk_;
  Random random_;
  std::vector<Cpu> cpus_;         // by host
  std::vector<NodeLines> lines_;  // by node
  std::vector<Slot> slots_;       // as well
  ViewPtr newest_;                // the newest view known to any node,
  Event view_seen_;               // and the event that each node records for it
  std::vector<NodeId> ending_;
  std::vector<NodeId> cut_off_;  // by partitions; may contain a node twice
  bool healed_ = false;
  bool fixed_end_ = false;    // in a fixed view: the job is ending
  std::size_t up_ = 0;        // live nodes
  std::size_t done_ = 0;      // nodes whose program has returned
  std::size_t restarts_ = 0;  // restarts due
  std::uint64_t messages_ = 0;
  std::uint64_t resumptions_ = 0;
  std::vector<NodeError> errors_;
  FaultCounts fired_{};
  std::map<std::string, std::uint64_t> probes_;
  std::map<std::string, Random> buggify_;
};

}  // namespace shoal
