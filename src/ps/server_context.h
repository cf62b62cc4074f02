// ServerContext: shared by all handlers of a server: its settings, its shards, and the group of its
// tasks.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/types.h"
#include "encoded/message.h"
#include "ps/consistency.h"
#include "ps/hosted_shard.h"
#include "ps/options.h"
#include "ps/shard_map.h"
#include "ps/shard_state.h"
#include "runtime/node.h"
#include "runtime/task_group.h"

namespace shoal {

struct ServerOptions {
  const ParameterServerOptions& ps;
  Elements buffers{};                         // of the model, beside the parameters
  std::shared_ptr<const MessageForm> form{};  // of encoded pushes
};

struct ServerContext {
  Node& node;
  std::vector<ShardCut> cuts;
  Substance substance;
  const UpdatePlan& plan;
  ServerOptions options;
  std::vector<HostedShard> shards;
  TaskGroup* tasks = nullptr;  // while the server runs

  void spawn(Task<void> task) const { tasks->spawn(std::move(task)); }
  Holder self() const { return {node.id, node.incarnation}; }
  bool present(Holder who) const { return node.membership.now().has(who.node, who.life); }
  bool is_head(const HostedShard& shard) const {
    return shard.ready && shard.chain.holders[0] == self();
  }
  bool in_rounds() const { return plan.shards > 0; }
  // One worker alone makes the first updates.
  bool warming_up(const HostedShard& shard) const {
    return shard.state != nullptr && shard.state->version() < options.ps.warm_start;
  }

  // The clocks of workers that are in the view and not away.
  ClockTable table_of(const HostedShard& shard) const {
    return shoal::present(shard.state->table(), node.membership.now());
  }
  // The shard has the steps of all workers up to this clock.
  std::uint64_t least_of(const HostedShard& shard, std::uint64_t otherwise) const {
    return shard.state->table().least(node.membership.now()).value_or(otherwise);
  }
};

}  // namespace shoal
