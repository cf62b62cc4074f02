// Verdict: decides what the end of a process means for the job. A pure state machine without clock
// and processes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "launch/program.h"

namespace shoal {

struct JobPolicy {
  std::uint64_t restarts = 0;  // in total
  bool keep_going = false;     // a failed rank does not end the others
  // Only killed processes are restarted: one that fails by itself would fail again.
  bool only_killed = false;
  // An exit status that is not a failure: it was asked to end early, and did; SIGTERM may have come
  // before it could report that. 0: there is none.
  int stopped = 0;
};

enum class Next : std::uint8_t { Wait, Restart, EndOthers };

// Thread safety: none. Invariant: the first failure without a restart is the job's status, unless
// the job continues without the failed rank and another one finishes successfully.
class Verdict {
 public:
  explicit Verdict(JobPolicy policy) : policy_(policy) {}

  // `ending`: the processes have been told to end, so none is restarted.
  Next ended(std::uint32_t rank, const Ended& ended, bool ending);
  bool failed(const Ended& ended, bool ending) const;
  int status() const;
  std::uint64_t restarts() const { return restarts_; }

  struct Failure {
    std::uint32_t rank;
    Ended ended;
  };
  const std::optional<Failure>& first_failure() const { return first_; }

 private:
  JobPolicy policy_;
  std::uint64_t restarts_ = 0;
  std::uint64_t finished_ = 0;  // successfully
  bool stopped_ = false;        // one of them, early
  std::optional<Failure> first_;
};

}  // namespace shoal
