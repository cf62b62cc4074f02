// The chain of holders of a shard: van Renesse & Schneider, "Chain Replication for Supporting High
// Throughput and Availability", OSDI 2004.
//
//   head, on a change:   make a record of it, apply it, and send it to the next holder
//   holder, on a record: apply it, and send it on; acknowledge it when the next holder has
//   a new next holder:   gets everything, and from then on records again
//
// Cost: R - 1 messages of a record, with its gradient, in a chain of R holders.
// Failure: a record that was acknowledged is at every holder. When the next holder is lost, the
//   next directory names the one after it, which gets everything.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/types.h"
#include "ps/hosted_shard.h"
#include "ps/protocol.h"
#include "ps/records.h"
#include "ps/sample_scheduler.h"
#include "ps/server_context.h"
#include "ps/shard_map.h"
#include "ps/shard_state.h"
#include "ps/slots.h"
#include "runtime/task.h"

namespace shoal {

// The source of a shard that no server has.
class ShardLoader {
 public:
  virtual ~ShardLoader() = default;
  // Loads the shard's state into a new one: from a checkpoint, or as training begins.
  virtual Task<void> load(ShardState& shard) = 0;
};

// Thread safety: none; it belongs to the thread of its node.
class ChainReplication {
 public:
  // `scheduler`: as it begins.
  ChainReplication(ServerContext& server, const SampleScheduler& scheduler, ShardLoader& loader);

  // Makes a change. `part`: the range that belongs to it. REQUIRES: the caller has the turn, and
  // this node is the head.
  void commit(HostedShard& shard, AnyRecord record, std::optional<Gradient> part = std::nullopt);
  // Done when all holders have the changes so far, so that a node can rely on a change that it is
  // told of.
  Task<void> until_acknowledged(HostedShard& shard);
  // Takes the shard's role from a new directory: follows the chain, loads the state, or drops it.
  Task<void> adopt(HostedShard& shard, const ShardDirectory& directory);

 private:
  // A record on its way to the next holder, with what belongs to it.
  struct Outgoing {
    AnyRecord record;
    RecordFrame frame{};
    std::shared_ptr<Version> parameters{};
    std::vector<float> slots{};
    std::vector<std::uint64_t> words{};
    std::vector<Gradient> gradients{};
  };
  // Messages from the neighbours in the chain of a shard.
  struct Arrivals {
    bool followed = false;  // both are received
    RecordFrame record;
    std::uint64_t acknowledged = 0;
  };

  void make(HostedShard& shard, AnyRecord record, std::optional<Gradient> part);
  Task<void> forward(HostedShard& shard, Holder next, Outgoing& out);
  void connect(HostedShard& shard);
  void follow(HostedShard& shard);
  Task<void> take_records(HostedShard& shard);
  Task<void> follow_record(HostedShard& shard, Holder from, AnyRecord record);
  Task<Gradient> part(Holder from, std::uint64_t number);
  Task<void> become_whole(HostedShard& shard, WholeRecord record, std::vector<Gradient> parts);
  Task<void> acknowledge(HostedShard& shard, Holder before, std::uint64_t sequence);
  Task<void> take_acknowledgements(HostedShard& shard);
  void make_state(HostedShard& shard);

  ServerContext& server_;
  const SampleScheduler scheduler_;
  ShardLoader& loader_;
  std::vector<Arrivals> arrivals_;  // by shard
  Slots<Outgoing> outgoing_;
  Slots<std::uint64_t> acknowledgements_;
};

}  // namespace shoal
