// Control links: how processes of a job talk about the job itself. Reliable, ordered messages
// between two processes that have proven to each other that they know the job's secret.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/error.h"
#include "runtime/task.h"

namespace shoal {

// The link, or the attempt to make one, failed; says who and why.
class LinkLost : public Error {
 public:
  enum class Cause : std::uint8_t {
    Gone,         // the other side closed it, or nobody listens there: its process has ended
    Unreachable,  // no way leads there now
  };
  explicit LinkLost(const std::string& what, Cause cause = Cause::Gone)
      : Error(what), cause_(cause) {}
  Cause cause() const { return cause_; }

 private:
  Cause cause_;
};

// Thread safety: none; both belong to the thread of their loop.
class ControlLink {
 public:
  virtual ~ControlLink() = default;  // closes it; what was queued is still delivered if possible
  // Queues the message; never waits. In vain once the link is lost.
  virtual void send(std::string message) = 0;
  // Throws LinkLost when the other side closed it or died. Messages sent before that come first.
  virtual Task<std::string> receive() = 0;
  virtual const std::string& peer() const = 0;  // how errors name the other side
};

class ControlNet {
 public:
  virtual ~ControlNet() = default;
  virtual std::string address() const = 0;  // where others reach this process
  // Throws LinkLost when nobody answers there, ConfigError when the other side refuses: another
  // secret, another version.
  virtual Task<std::unique_ptr<ControlLink>> connect(std::string address) = 0;
  virtual Task<std::unique_ptr<ControlLink>> accept() = 0;  // the next that has proven itself
};

}  // namespace shoal
