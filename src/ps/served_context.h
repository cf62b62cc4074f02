// ServedContext: shared by the parts of a worker with servers: its node, its settings, its client
// of the servers, and its progress.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "learner/learner.h"
#include "ps/client.h"
#include "ps/served_recipe.h"
#include "ps/shard_map.h"
#include "replica/journal.h"
#include "replica/replica.h"
#include "replica/training_task.h"
#include "runtime/node.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

using Eta = std::function<double(std::uint64_t version)>;

struct ServedProgress {
  std::uint64_t clock = 0;    // steps in its pushes
  std::uint64_t held = 0;     // steps since, whose gradients are added up in g
  std::uint64_t samples = 0;  // of these
  std::uint64_t unread = 0;   // steps since it last read
  std::uint64_t settled = 0;  // its shares below this one are in the parameters of all shards
  bool left = false;          // it has no samples, and no one waits for it
};

struct ServedContext {
  using Visit = std::function<Task<void>(std::uint32_t shard)>;

  Node& node;
  Learner& learner;
  Replica& replica;
  const TrainingTask& task;
  const Served& recipe;
  bool mean;  // of the samples of an update; false: their gradients add up
  const std::vector<ShardCut>& cuts;
  const Eta& eta;
  Journal* journal;
  Client client;
  ServedProgress progress{};

  bool in_rounds() const { return recipe.shards > 0; }
  Range of(const Range& all, std::uint32_t shard) const {
    return all.slice(cuts[shard].at, cuts[shard].n);
  }
  // The shard's part of the second copy of the parameters.
  Range next_w(std::uint32_t shard) const {
    return of(replica.next_w().slice(Elements(0), replica.N), shard);
  }
  // The destination of a shard's parameters.
  Client::Room room(std::uint32_t shard) const {
    if (in_rounds()) return {.w = next_w(shard)};
    return {.w = of(replica.parameters(), shard)};
  }
  // All shards at once.
  static Task<void> at_all(std::size_t shards, Visit visit);
  Task<void> at_all_shards(Visit visit) const { return at_all(cuts.size(), std::move(visit)); }
};

}  // namespace shoal
