// A WorldUnderTest of threads and real time, over any transport.
#pragma once

#include <exception>
#include <memory>
#include <utility>

#include "conformance/worlds.h"
#include "support/no_files.h"
#include "transport/inproc_world.h"

namespace shoal {

inline void report(NodeId node, Incarnation incarnation, const std::string& what) {
  ADD_FAILURE() << "node " << node.value() << "." << incarnation.value() << ": " << what;
}

// Nodes of this process on threads; `loops` of 0 means one for each node.
class LiveUnderTest : public WorldUnderTest {
 public:
  explicit LiveUnderTest(std::size_t loops) : loops_(loops) {}

  void run(std::size_t nodes, NodeProgram program) override {
    InprocOptions options;
    options.nodes = nodes;
    options.loops = loops_ == 0 ? nodes : loops_;
    options.limit = std::chrono::seconds(30);
    options.endpoint = [this](LiveLoop& loop, Env& env, NodeId node, Incarnation incarnation) {
      return make_endpoint(loop, env, node, incarnation);
    };
    if (in_process()) options.endpoint = {};
    InprocWorld world(options, [](Env&, NodeId) { return std::make_unique<NoFiles>(); });
    world_ = &world;
    for (const NodeEnd& end : world.run(prepared(nodes, std::move(program)))) {
      if (!end.error) continue;
      try {
        std::rethrow_exception(end.error);
      } catch (const std::exception& error) {
        report(end.node, end.incarnation, error.what());
      }
    }
    world_ = nullptr;
  }
  void kill(NodeId node) override { world_->kill(node); }

 protected:
  // Work to do before the program, followed by the program.
  virtual NodeProgram prepared(std::size_t nodes, NodeProgram program) {
    (void)nodes;
    return program;
  }
  virtual bool in_process() const { return false; }
  virtual std::unique_ptr<LiveEndpoint> make_endpoint(LiveLoop& loop, Env& env, NodeId node,
                                                      Incarnation incarnation) = 0;

 private:
  std::size_t loops_;
  InprocWorld* world_ = nullptr;
};

}  // namespace shoal
