// What a live world does with the endpoint of one of its nodes, whatever carries its messages.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "base/types.h"
#include "runtime/endpoint.h"
#include "runtime/live/loop.h"
#include "runtime/view.h"

namespace shoal {

// Thread safety: none; it belongs to the thread of its loop.
class LiveEndpoint : public Endpoint, public StallSource {
 public:
  // A view arrived: who is not in it is lost.
  virtual void adopt(const ViewPtr& view) = 0;
  // That life of a peer is over.
  virtual void lose(NodeId peer, Incarnation life, const std::string& why) = 0;
  // This life was evicted: all operations fail with Fenced, as soon as no peer reads from our
  // ranges any more, because the program frees them when it hears of it.
  virtual void fence(const std::string& why) = 0;
  // Called when that has happened, or when a peer answered that this life is over.
  void on_fenced(std::function<void(const std::string& why)> hook) {
    fenced_hook_ = std::move(hook);
  }
  // This life is over. Operations neither complete nor fail from now on, the peers are told, and
  // `quiet` is called as soon as no peer reads from our ranges any more: then cancel the program.
  virtual void die(const std::string& why, std::function<void()> quiet) = 0;

 protected:
  void tell_fenced(const std::string& why) {
    if (fenced_hook_) fenced_hook_(why);
  }

 private:
  std::function<void(const std::string&)> fenced_hook_;
};

}  // namespace shoal
