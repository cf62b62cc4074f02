// JobOffice: the coordinator of a job in the process of its launcher, with the job's state in its
// memory. Any rank may die; the launcher may not.
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
  std::uint32_t world = 1;   // the first view waits for as many
  CoordinatorOptions views;  // `expected` is set to that
  // A line for every decision; by default they go to stderr.
  std::function<void(const std::string& line)> log = {};
};

// Thread safety: none; it belongs to the thread of its loop.
class JobOffice {
 public:
  // Listens at once. Throws ConfigError when it cannot.
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
