// Membership: who takes part. One of the four interfaces of the seam; see docs/architecture.md.
#pragma once

#include <string>

#include "runtime/channel.h"
#include "runtime/task.h"
#include "runtime/view.h"

namespace shoal {

// Thread safety: none; it belongs to the thread of its node.
class Membership {
 public:
  virtual ~Membership() = default;

  // The latest view this node knows of; generation 0 before the first.
  const View& now() const { return *view_; }
  // The latest view, as soon as there is one newer than `generation`; views may be skipped. Throws
  // Fenced when this node was evicted.
  Task<ViewPtr> after(Generation generation);
  // An operation with `peer` failed here. The coordinator decides; a view without it, or without
  // us, will follow.
  virtual void suspect(NodeId peer, const std::string& why) = 0;
  // Asks that the whole job ends: a view that is ending follows, in which all stop after the same
  // step.
  virtual void end_job(Ending how, const std::string& why) = 0;
  // This node is done and goes in peace; others see a view without it.
  virtual void leave() = 0;

 protected:
  // For the implementation: a view arrived, or the news that we were evicted.
  void learn(ViewPtr view);
  void learn_fenced(std::string why);

 private:
  ViewPtr view_ = std::make_shared<const View>();
  bool fenced_ = false;
  std::string fenced_why_;
  Signal changed_;
};

}  // namespace shoal
