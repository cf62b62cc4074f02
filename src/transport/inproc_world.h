// InprocWorld: P nodes of one process on L threads, with real messages and real time.
//
//   InprocWorld world({.nodes = 4, .loops = 2}, files);
//   for (const NodeEnd& end : world.run(program)) ...       // the same program that is simulated
//
// The first view has all nodes. A program that returns leaves; one that throws is a crash to the
// others; one that throws Fenced is started anew as the next incarnation.
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
  std::size_t loops = 1;  // threads; node n lives on loop n % loops
  Seed seed{};
  // One more per loop for work(), and one that reads and writes files. Else the loop does it.
  bool compute_threads = false;
  bool io_threads = false;
  Duration limit = std::chrono::seconds(60);  // wall clock; a run that lasts longer has hung
  Duration stall_after = std::chrono::seconds(5);
  CoordinatorOptions coordinator{};  // expected is set to `nodes`
  std::function<Role(NodeId)> role = [](NodeId) { return Role::Worker; };
  std::function<HostId(NodeId)> host = [](NodeId) { return HostId(0); };  // what it says it is on
  // What carries the messages of one life of a node, made on the thread of its loop. Empty: an
  // InprocEndpoint.
  std::function<std::unique_ptr<LiveEndpoint>(LiveLoop&, Env&, NodeId, Incarnation)> endpoint = {};
  // Dumps the flight recorder to stderr: SIGUSR1, say. The signal stays blocked in the calling
  // thread. 0: none.
  int dump_signal = 0;
};

// How one life of a node ended.
struct NodeEnd {
  enum class How : std::uint8_t { Returned, Failed, Killed, Fenced };
  NodeId node;
  Incarnation incarnation;
  How how = How::Returned;
  std::exception_ptr error;  // of Failed
};

// Thread safety: run() blocks its caller; recorder() is for before and after it. Everything else
// may be called from any thread, also by the programs, and takes effect a little later.
// Invariants:
// 1. A life is made, used and destroyed by the thread of its loop.
// 2. A node has one life at a time in the net: the old one is detached before the new one attaches.
class InprocWorld {
 public:
  using MakeFiles = std::function<std::unique_ptr<Files>(Env& env, NodeId node)>;

  InprocWorld(InprocOptions options, MakeFiles files);
  ~InprocWorld();
  InprocWorld(const InprocWorld&) = delete;
  InprocWorld& operator=(const InprocWorld&) = delete;

  // Runs until every node has ended, in the order of the ends. Throws Error when that takes longer
  // than the limit, after the flight recorder was dumped to stderr. Once per world.
  std::vector<NodeEnd> run(NodeProgram program);

  // The node's program is cancelled and its endpoint is dead; the peers get PeerLost, then a view.
  void kill(NodeId node);
  // As the next incarnation; kills the present one first. Also for a node that joins.
  void restart(NodeId node);
  // The node lives, but is out of the view: it gets Fenced, and comes back as a new incarnation.
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
  // By the thread of the node's loop.
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
  std::map<NodeId, Slot> slots_;  // guarded by mutex_, as are all below
  std::size_t running_ = 0;       // lives that have begun, or will, and have not been buried
  bool giving_up_ = false;
  std::vector<NodeEnd> ends_;
};

// Throws the first error that a node's program failed with.
void rethrow_failure(const std::vector<NodeEnd>& ends);

}  // namespace shoal
