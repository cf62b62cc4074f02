// The Keeper on checkpoints: replicas saved as snapshots through Files, loaded verified.
#pragma once

#include <string>

#include "checkpoint/snapshot.h"
#include "runtime/node.h"
#include "strategy/replica.h"

namespace shoal {

class SnapshotKeeper final : public Keeper {
 public:
  SnapshotKeeper(Node& node, std::string folder);

  Task<void> save(const Replica& replica) override;
  Task<bool> load(Replica& replica) override;

 private:
  void note(EventKind kind, Step step, std::uint64_t hash);

  Node& node_;
  SnapshotStore store_;
};

}  // namespace shoal
