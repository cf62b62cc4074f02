// Membership: the members of the job. One of the four interfaces of the seam; see
// docs/architecture.md.
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

  // The latest view that this node knows; generation 0 before the first.
  const View& now() const { return *view_; }
  // Waits for a view newer than `generation` and returns the latest one; views may be skipped.
  // Throws Fenced when this node was evicted.
  Task<ViewPtr> after(Generation generation);
  // Reports that an operation with `peer` failed here. The coordinator decides; a view without the
  // peer, or without this node, will follow.
  virtual void suspect(NodeId peer, const std::string& why) = 0;
  // Asks to end the whole job: a view that is ending follows, in which all members stop after the
  // same step.
  virtual void end_job(Ending how, const std::string& why) = 0;
  // This node is done and leaves in an orderly way; the others get a view without it.
  virtual void leave() = 0;
  // This node cannot continue because of an error of its own. The others get a view without it and
  // release its memory; its own operations end with Fenced. Without this call it would wait forever
  // until its ranges are free, and the others for its next message.
  void fail(const std::string& why);
  void fail(const std::exception_ptr& error);  // Cancelled and Fenced are not failures

 protected:
  // Tells the coordinator, and fences this node.
  virtual void failed(const std::string& why) = 0;
  // For the implementation: a view arrived, or this node was evicted.
  void learn(ViewPtr view);
  void learn_fenced(std::string why);

 private:
  ViewPtr view_ = std::make_shared<const View>();
  bool fenced_ = false;
  std::string fenced_why_;
  Signal changed_;
};

}  // namespace shoal
