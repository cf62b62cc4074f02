#include "ps/read_gate.h"

#include <algorithm>
#include <optional>

#include "ps/consistency.h"
#include "ps/round_handler.h"

namespace shoal {

ReadGate::ReadGate(ServerContext& server, HostedShard& shard, Holder worker, std::uint64_t clock)
    : server_(server),
      shard_(shard),
      worker_(worker),
      clock_(clock),
      announced_before_(shard.announced.count()) {
  if (ClockRow* const row = shard.row(worker)) row->waits = true;
}

bool ReadGate::closed() const {
  const Consistency& consistency = server_.options.ps.consistency;
  const bool backup = goes_by_steps(consistency) && !moves_in_step(consistency);
  return shard_.announced.awaited(announced_before_) ||
         (backup && shard_.state->waits(worker_.node)) || !may_read();
}

bool ReadGate::may_read() const {
  const Consistency& c = server_.options.ps.consistency;
  if (server_.in_rounds()) return may_read_round(shard_, clock_);
  if (!moves_in_step(c) && !staleness_bound(c)) return true;
  return shoal::may_read(c, server_.table_of(shard_), clock_, shard_.state->version(),
                         shard_.state->waiting_pushes());
}

void ReadGate::pass(ReadState& read, Payload& payload) {
  record_read();
  payload.parameters = shard_.state->parameters();
  payload.version = read.version = shard_.state->version();
  read.least = server_.least_of(shard_, clock_);
  if (ClockRow* const row = shard_.row(worker_)) {
    row->waits = false;
    row->unseen = 0;
    row->version = read.version;
  }
  shard_.changed.notify_all();
}

void ReadGate::record_read() const {
  const Consistency& c = server_.options.ps.consistency;
  const std::optional<std::uint64_t> bound = staleness_bound(c);
  if (!bound) return;
  const std::optional<std::uint64_t> least =
      shard_.state->table().least(server_.node.membership.now());
  if (!least) return;
  Event event;
  event.kind = EventKind::ReadServed;
  event.peer = worker_.node;
  event.group = kServing;
  event.a = clock_;
  event.b = *least;
  event.c = *bound;
  // In step a clock may lag behind the version, after a server was lost with its shard.
  if (moves_in_step(c)) event.b = std::max(event.b, shard_.state->version());
  // All steps before a round were in the parameters when it was dealt.
  if (server_.in_rounds()) event.b = std::max(event.b, clock_);
  server_.node.env.record(event);
}

}  // namespace shoal
