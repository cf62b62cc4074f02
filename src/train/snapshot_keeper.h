// The Keeper on checkpoints: replicas saved as snapshots through Files, loaded verified.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/snapshot.h"
#include "runtime/node.h"
#include "strategy/replica.h"

namespace shoal {

class SnapshotKeeper final : public Keeper {
 public:
  SnapshotKeeper(Node& node, std::string folder);

  Task<void> save(const Replica& replica) override;
  Task<bool> load(Replica& replica) override;

  // What the last load found broken and passed over.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  Node& node_;
  SnapshotStore store_;
  std::vector<std::string> warnings_;
};

}  // namespace shoal
