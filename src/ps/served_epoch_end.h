// A worker's tasks at an epoch's end, when the parameters do not change: it reads them, and does
// the tasks that the first shard gives it (epoch_end.h).
#pragma once

#include <cstdint>

#include "learner/learner.h"
#include "ps/served_context.h"
#include "ps/served_parameters.h"
#include "replica/replica.h"
#include "runtime/task.h"

namespace shoal {

inline constexpr std::uint32_t kBlocks = 32;  // of held-out samples

// Thread safety: none; it belongs to the thread of its node.
class ServedEpochEnd {
 public:
  ServedEpochEnd(ServedContext& worker, ServedParameters& parameters, CheckpointStore& checkpoints)
      : worker_(worker), parameters_(parameters), checkpoints_(checkpoints) {}

  struct Past {
    std::uint64_t epochs = 0;  // whose ends are past
    bool last = false;
  };
  Task<Past> attend(std::uint64_t epoch);

 private:
  Task<void> snapshot(std::uint32_t shard);
  Task<Score> evaluate(std::uint32_t block);
  Task<void> save();

  ServedContext& worker_;
  ServedParameters& parameters_;
  CheckpointStore& checkpoints_;
};

}  // namespace shoal
