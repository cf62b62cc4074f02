// Membership: who takes part. One of the four interfaces of the seam; see docs/architecture.md.
#pragma once

#include <exception>
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
  // This node cannot go on, by an error of its own. The others see a view without it and let go of
  // what they read in its memory; its own operations end with Fenced. Without this, a node that
  // waits until its ranges are free and others that wait for its next message wait for ever.
  void fail(const std::string& why);
  void fail(const std::exception_ptr& error);  // not by Cancelled and Fenced, which are no failures

 protected:
  // Tells the coordinator, and fences this node.
  virtual void failed(const std::string& why) = 0;
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
