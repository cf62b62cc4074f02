// The end of an epoch: tasks that workers do while the parameters stand still, in this order.
//
//   one worker sends the model's buffers, which its forward passes have changed (learner/layout.h)
//   workers evaluate blocks of the held-out samples, until all blocks have a score
//   one worker saves the state; then the epoch is past
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "learner/learner.h"

namespace shoal {

enum class EndOfEpochTask : std::uint32_t {
  None,         // done so far: nothing
  SendBuffers,  // send the model's buffers
  Evaluate,     // evaluate a block that has no score
  Save,
  Continue,  // the end is past, and there is another epoch
  Finish,    // the end is past, and it was the last
};

class EpochEnd {
 public:
  EpochEnd(std::uint32_t blocks, bool buffers) : buffers_wanted_(buffers), scores_(blocks) {}

  // The epoch that ends now.
  EndOfEpochTask next_task(bool evaluates) const;
  void buffers_sent() { buffers_sent_ = true; }
  void score(std::uint32_t block, const Score& score);
  void saved(std::uint64_t epoch);

  std::uint64_t past() const { return past_; }  // epochs whose end is past
  const std::vector<std::optional<Score>>& scores() const { return scores_; }
  Score total() const { return total_; }  // of the last epoch that is past

  void restart(std::uint64_t past);
  std::vector<std::uint64_t> words() const;
  void restore(std::span<const std::uint64_t>& words);

 private:
  bool buffers_wanted_;
  std::uint64_t past_ = 0;
  bool buffers_sent_ = false;  // at this end
  std::vector<std::optional<Score>> scores_;
  Score total_;
};

}  // namespace shoal
