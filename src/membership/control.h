// Control links: reliable, ordered messages about the job itself, between two processes that have
// proven to each other that they know the job's secret.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/error.h"
#include "runtime/task.h"

namespace shoal {

// The link, or the attempt to make one, failed; the text names the peer and the reason.
class LinkLost : public Error {
 public:
  enum class Cause : std::uint8_t {
    Gone,         // the other side closed it, or does not listen: its process has ended
    Unreachable,  // it cannot be reached now
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
  virtual ~ControlLink() = default;  // closes the link; queued messages are still delivered if
                                     // possible
  // Queues the message without waiting. Does nothing once the link is lost.
  virtual void send(std::string message) = 0;
  // Throws LinkLost when the other side closed the link or died. Earlier messages come first.
  virtual Task<std::string> receive() = 0;
  virtual const std::string& peer() const = 0;  // the other side's name in errors
};

class ControlNet {
 public:
  virtual ~ControlNet() = default;
  virtual std::string address() const = 0;  // the address at which others reach this process
  // Throws LinkLost if nothing answers there, ConfigError if the other side refuses: another
  // secret, another version.
  virtual Task<std::unique_ptr<ControlLink>> connect(std::string address) = 0;
  // The next link whose other side has proven itself.
  virtual Task<std::unique_ptr<ControlLink>> accept() = 0;
};

}  // namespace shoal
