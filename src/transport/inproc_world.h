// InprocWorld: P nodes of one process on L threads, with real messages and real time.
//
//   InprocWorld world({.nodes = 4, .loops = 2}, files);
//   for (const NodeEnd& end : world.run(program)) ...       // the same program that is simulated
//
// The first view has all nodes. A program that returns leaves the job. One that throws is a crash
// for the others. One that throws Fenced is started again as the next incarnation.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/recorder.h"
#include "base/types.h"
#include "runtime/files.h"
#include "runtime/live/loop.h"
#include "runtime/node.h"
#include "runtime/view.h"
#include "transport/inproc_coordinator.h"
#include "transport/inproc_net.h"
#include "transport/live_endpoint.h"

namespace shoal {

struct InprocOptions {
  std::size_t nodes = 1;  // 0..nodes-1 take part from the start
  std::size_t loops = 1;  // threads; node n belongs to loop n % loops
  Seed seed{};
  // Two more threads per loop: for work(), and for files. Otherwise the loop does both.
  bool compute_threads = false;
  bool io_threads = false;
  Duration limit = std::chrono::seconds(60);  // wall clock; a longer run counts as hung
  Duration stall_after = std::chrono::seconds(5);
  CoordinatorOptions coordinator{};  // `expected` is set to `nodes`
  std::function<Role(NodeId)> role = [](NodeId) { return Role::Worker; };
  // The host that a node claims to be on.
  std::function<HostId(NodeId)> host = [](NodeId) { return HostId(0); };
  // Makes the endpoint of an incarnation, on the thread of its loop. Empty: an InprocEndpoint.
  std::function<std::unique_ptr<LiveEndpoint>(LiveLoop&, Env&, NodeId, Incarnation)> endpoint = {};
  // A signal, for example SIGUSR1, that dumps the flight recorder to stderr. It stays blocked in
  // the calling thread. 0: none.
  int dump_signal = 0;
};

// The end of an incarnation of a node.
struct NodeEnd {
  enum class How : std::uint8_t { Returned, Failed, Killed, Fenced };
  NodeId node;
  Incarnation incarnation;
  How how = How::Returned;
  std::exception_ptr error;  // if Failed
};

// Thread safety: run() blocks its caller; recorder() is for before and after it. All other methods
// may be called from any thread, also by the programs, and take effect a little later. Invariants:
// 1. An incarnation is made, used and destroyed by the thread of its loop.
// 2. A node has one incarnation at a time in the net: the old one is detached before the new one
//    attaches.
class InprocWorld {
 public:
  using MakeFiles = std::function<std::unique_ptr<Files>(Env& env, NodeId node)>;

  InprocWorld(InprocOptions options, MakeFiles files);
  ~InprocWorld();
  InprocWorld(const InprocWorld&) = delete;
  InprocWorld& operator=(const InprocWorld&) = delete;

  // Runs until every node has ended; returns the ends in order. Throws Error if this takes longer
  // than the limit, after dumping the flight recorder to stderr. Call it once per world.
  std::vector<NodeEnd> run(NodeProgram program);

  // Cancels the node's program and ends its endpoint; the peers get PeerLost, then a view.
  void kill(NodeId node);
  // Starts the node as the next incarnation; kills the present one first. Also for a node that
  // joins.
  void restart(NodeId node);
  // The node is alive, but out of the view: it gets Fenced, and returns as a new incarnation.
  void evict(NodeId node, const std::string& why);

  InprocNet& net() { return net_; }
  Recorder& recorder(std::size_t loop = 0);  // of the nodes on that loop

 private:
  struct Life;
  struct Host;
  using LifeId = std::pair<NodeId, Incarnation>;
  struct Slot {
    Incarnation incarnation{};
    bool up = false;
  };

  Host& host(NodeId node) { return *hosts_[node.value() % hosts_.size()]; }
  std::unique_ptr<LiveEndpoint> make_endpoint(LiveLoop& loop, Env& env, LifeId id);
  void start(NodeId node);  // REQUIRES: mutex_ is held
  // On the thread of the node's loop.
  void begin(LifeId id);
  Task<void> live(Life& life);
  void end(Life& life, NodeEnd::How how, std::exception_ptr error);
  void bury(LifeId id, NodeEnd::How how, std::exception_ptr error);
  void kill_here(LifeId id, const std::string& why);
  Life* find(LifeId id);

  void run_loops();
  std::vector<std::string> ask_loops(const std::function<std::string(Host&)>& question);
  [[noreturn]] void give_up();
  static std::string describe(Host& host);

  const InprocOptions options_;
  const MakeFiles files_;
  const std::chrono::steady_clock::time_point origin_;
  NodeProgram program_;
  InprocNet net_;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::optional<InprocCoordinator> coordinator_;

  std::mutex mutex_;
  std::condition_variable ended_;
  std::map<NodeId, Slot> slots_;  // guarded by mutex_, as are all fields below
  std::size_t running_ = 0;       // incarnations that have begun or will begin, and are not
                                  // destroyed yet
  bool giving_up_ = false;
  std::vector<NodeEnd> ends_;
};

// Rethrows the first error of a node's program.
void rethrow_failure(const std::vector<NodeEnd>& ends);

}  // namespace shoal
