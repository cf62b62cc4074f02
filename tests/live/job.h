// A job of real processes, started by `shoal launch`, as its logs report it (see rank.cc).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/temporary_folder.h"

namespace shoal {

using Nanoseconds = std::int64_t;
Nanoseconds monotonic_now();

struct LiveStep {
  Nanoseconds at = 0;
  std::uint64_t step = 0;
  std::uint64_t generation = 0;
};
struct LiveView {
  Nanoseconds at = 0;
  std::uint64_t generation = 0;
  std::uint64_t members = 0;
};

// The log of one rank, in all its processes, so far.
struct RankLog {
  std::vector<pid_t> pids;
  std::vector<LiveView> views;
  std::vector<LiveStep> steps;
  std::vector<Nanoseconds> fenced;
  std::optional<std::string> done;  // the hash of its parameters
};

struct LiveJobOptions {
  std::uint32_t ranks = 4;
  std::uint64_t steps = 100'000'000;  // more than any test waits for
  std::vector<std::string> launch = {"--restart", "1000"};
  std::vector<std::string> rank = {};  // further arguments
};

// Thread safety: none. The destructor ends all processes that it has started.
class LiveJob {
 public:
  explicit LiveJob(const LiveJobOptions& options);
  ~LiveJob();
  LiveJob(const LiveJob&) = delete;
  LiveJob& operator=(const LiveJob&) = delete;

  RankLog log(std::uint32_t rank) const;
  pid_t pid(std::uint32_t rank) const { return log(rank).pids.back(); }
  // Returns true as soon as it holds; false if it does not within a minute.
  static bool eventually(const std::function<bool()>& holds);
  // All ranks are in one view and have made a step in it.
  bool all_in_step() const;
  // The time of the first step, by a rank other than `without`, in a view seen after `since`.
  std::optional<Nanoseconds> recovered(Nanoseconds since, std::uint32_t without) const;
  int wait();                  // for the end of the launcher; returns its status
  std::string output() const;  // of the launcher and all ranks
  const std::string& folder() const { return path_; }
  pid_t launcher() const { return launcher_; }

 private:
  TemporaryFolder folder_;
  std::string path_;
  LiveJobOptions options_;
  pid_t launcher_ = -1;
  std::optional<int> status_;
};

}  // namespace shoal
