// The CheckpointStore on checkpoints: replicas saved as snapshots through Files, loaded verified.
//
//   model.safetensors       parameters and buffers, under the module's own names
//   optimizer.safetensors   the optimizer's slots, as 0.NAME, 1.NAME; when the rule has any
//   worker-N.safetensors    what the worker that is node N had of its own, as arrays without shape
//   progress                step, place in the epoch, and what must be the same to go on
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
  // `terms`: what a checkpoint and the run that goes on from it must agree on, beside the model:
  // "optimizer momentum". The layout outlives the checkpoints.
  FolderCheckpointStore(Node& node, std::string folder, const Layout& layout,
                        std::vector<std::string> terms = {});

  Task<void> save(Replica& replica) override;
  Task<bool> load(Replica& replica) override;

  // What the last load found broken and passed over.
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
