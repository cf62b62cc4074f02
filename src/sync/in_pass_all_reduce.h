// InPassAllReduce: the passes of all members sum a few numbers in the middle of a step
// (synchronized batch norm). A pass runs as one piece of work on the compute thread and cannot
// await anything: it posts a question to the node's thread and blocks until the answer.
//
//   pass       add_up(numbers) -> posts the question, waits
//   serve()    for each question: all-gather, sum in rank order, answer
//
// Cost: an all-gather of the numbers for each question, with forward and backward waiting for it.
// Failure: when serve() ends with an exception, this question and all later ones are refused, and
//   the pass ends with Cancelled.
// Only in live runs: in the simulator, work takes no time in its middle, so no answer comes, and
//   the job ends with a ConfigError.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "collective/dissemination.h"
#include "collective/group.h"
#include "learner/normalization.h"
#include "runtime/channel.h"
#include "runtime/task.h"

namespace shoal {

// Thread safety: add_up() is called where work runs, one call at a time; all else by the node's
// thread. Invariant: every question is answered once, or refused.
class InPassAllReduce final : public InPassReducer {
 public:
  // Operations are numbered from `operation` on.
  InPassAllReduce(const Group& group, Gathering& gathering, std::uint64_t operation)
      : group_(group), gathering_(gathering), operation_(operation) {}

  void add_up(std::span<double> numbers) override;
  // Serves until close(), which is called when the pass has ended.
  Task<void> serve();
  void close() { questions_.close(); }

 private:
  enum class Answer : std::uint32_t { None, Given, Refused };

  void ask(std::span<double> numbers);
  void answer(Answer answer);
  Task<void> add_over_members(std::span<double> numbers);

  const Group& group_;
  Gathering& gathering_;
  std::uint64_t operation_;
  Channel<std::span<double>> questions_;
  bool refusing_ = false;
  std::atomic<Answer> answer_ = Answer::None;
};

}  // namespace shoal
