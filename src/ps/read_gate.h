// The gate of a read: it is closed until the consistency lets the worker read (consistency.h).
#pragma once

#include <cstdint>

#include "ps/answer_sender.h"
#include "ps/hosted_shard.h"
#include "ps/requests.h"
#include "ps/server_context.h"
#include "ps/shard_map.h"

namespace shoal {

class ReadGate {
 public:
  // The worker has made `clock` steps. REQUIRES: this node is the head.
  ReadGate(ServerContext& server, HostedShard& shard, Holder worker, std::uint64_t clock);
  bool closed() const;
  // The worker reads now. REQUIRES: this node is the head.
  void pass(ReadState& read, Payload& payload);

 private:
  bool may_read() const;
  void record_read() const;  // for the checkers

  ServerContext& server_;
  HostedShard& shard_;
  Holder worker_;
  std::uint64_t clock_;
  std::uint64_t announced_before_;
};

}  // namespace shoal
