// Verdict: what the end of a process means for the job. Knows no clock and no process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "launch/program.h"

namespace shoal {

struct JobPolicy {
  std::uint64_t restarts = 0;  // in all
  bool keep_going = false;     // a failed rank does not end the others
  // Only who was killed is started again: who fails by itself would fail again.
  bool only_killed = false;
  // An exit status that is no failure: it was asked to end early, and has; SIGTERM may also have
  // come before it could say so. 0: there is none.
  int stopped = 0;
};

enum class Next : std::uint8_t { Wait, Restart, EndOthers };

// Thread safety: none. Invariant: the first failure that is not answered by a restart is the job's
// status, unless the job goes on without the failed and somebody finishes well.
class Verdict {
 public:
  explicit Verdict(JobPolicy policy) : policy_(policy) {}

  // `ending`: the processes have been told to end, so none is started again.
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
  std::uint64_t finished_ = 0;  // well
  bool stopped_ = false;        // one of them early
  std::optional<Failure> first_;
};

}  // namespace shoal
