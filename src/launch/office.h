// JobOffice: the coordinator of a job inside its launcher, with the job's state in memory. Any rank
// may die, but not the launcher.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "runtime/live/loop.h"
#include "runtime/view.h"

namespace shoal {

struct OfficeOptions {
  std::string job;
  std::string token;
  std::string listen = "127.0.0.1";
  std::uint16_t port = 0;
  std::uint32_t world = 1;   // the first view waits for this many
  CoordinatorOptions views;  // `expected` is set to `world`
  // Gets a line for every decision; the default prints to stderr.
  std::function<void(const std::string& line)> log = {};
};

// Thread safety: none; it belongs to the thread of its loop.
class JobOffice {
 public:
  // Listens at once. Throws ConfigError on failure.
  JobOffice(LiveLoop& loop, const OfficeOptions& options);
  // Closes its links. REQUIRES: no thread is in loop.run().
  ~JobOffice();
  JobOffice(const JobOffice&) = delete;
  JobOffice& operator=(const JobOffice&) = delete;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace shoal
