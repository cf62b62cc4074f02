// Implements CheckpointStore: saves replicas as snapshots through Files, and verifies them when
// loading.
//
//   model.safetensors       parameters and buffers, under the module's own names
//   optimizer.safetensors   the optimizer's slots, as 0.NAME, 1.NAME; if the rule has any
//   worker-N.safetensors    the state of worker N alone, as arrays without shape
//   progress                step, position in the epoch, and terms that must match on resume
#pragma once

#include <string>
#include <vector>

#include "checkpoint/snapshot.h"
#include "learner/layout.h"
#include "replica/replica.h"
#include "runtime/node.h"

namespace shoal {

class FolderCheckpointStore final : public CheckpointStore {
 public:
  // `terms`: settings that a checkpoint and the run that resumes it must share, besides the model:
  // "optimizer momentum". The layout outlives the checkpoints.
  FolderCheckpointStore(Node& node, std::string folder, const Layout& layout,
                        std::vector<std::string> terms = {});

  Task<void> save(Replica& replica) override;
  Task<bool> load(Replica& replica) override;

  // Broken checkpoints that the last load passed over.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  Node& node_;
  SnapshotStore store_;
  const Layout& layout_;
  std::vector<std::string> terms_;
  std::vector<std::string> warnings_;
};

// The optimizer's slots as tensors: one for each parameter and slot.
Layout layout_of_slots(const Layout& layout, std::uint64_t slots);

}  // namespace shoal
