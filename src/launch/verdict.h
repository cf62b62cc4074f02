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
};

enum class Next : std::uint8_t { Wait, Restart, EndOthers };

// Thread safety: none. Invariant: the first failure that is not answered by a restart is the job's
// status, unless the job goes on without the failed and somebody finishes well.
class Verdict {
 public:
  explicit Verdict(JobPolicy policy) : policy_(policy) {}

  // `ending`: the processes have been told to end, so none is started again.
  Next ended(std::uint32_t rank, const Ended& ended, bool ending);
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
  std::optional<Failure> first_;
};

}  // namespace shoal
