#include "ps/worker_handler.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ps/round_handler.h"
#include "ps/shard_directories.h"

namespace shoal {

Task<void> WorkerHandler::answer(NodeId from, EnterRequest request) {
  HostedShard& shard = server_.shards[request.header.shard];
  const Holder worker{from, request.header.life};
  EnterAnswer answer;
  bool in = false;
  while (!in && server_.is_head(shard))
    in = co_await enter_for_samples(shard, request, worker, answer);
  co_await chain_.until_acknowledged(shard);
  Payload payload;
  if (server_.is_head(shard)) payload.buffers = shard.state->buffers();
  co_await answers_.reply_as_head(from, request, answer, std::move(payload));
}

Task<void> WorkerHandler::answer(NodeId from, RegisterRequest request) {
  HostedShard& shard = server_.shards[request.header.shard];
  const Holder worker{from, request.header.life};
  RegisterAnswer answer;
  {
    const HostedShard::Turn mine = co_await shard.turn();
    require_present(server_.node, worker);  // Its shares may have been dealt again.
    if (server_.is_head(shard)) {
      // A worker that rejoins the first shard may be in by now. In rounds one that is in says which
      // are over, to a shard that was loaded.
      const bool behind = server_.in_rounds() && shard.state->version() < request.clock;
      if ((shard.number == 0 || server_.in_rounds()) && !behind) {
        enter_if_out(shard, worker, request.clock);
      } else {
        enter(shard, worker, request.clock);
      }
      answer.version = shard.state->version();
    }
  }
  co_await chain_.until_acknowledged(shard);
  const Payload nothing;
  co_await answers_.reply_as_head(from, request, answer, nothing);
}

bool WorkerHandler::left_open(const HostedShard& shard, Holder worker) {
  const auto& open = shard.scheduler()->shares().all();
  const auto it = open.find(worker.node);
  return it != open.end() && it->second.life != worker.life;
}

// One worker alone makes the first updates of a warm start.
bool WorkerHandler::goes_first(NodeId worker) const {
  const View& view = server_.node.membership.now();
  return std::ranges::none_of(
      view.members, [&](const Member& m) { return m.role == Role::Worker && m.node < worker; });
}

bool WorkerHandler::has_samples(const HostedShard& shard) const {
  return shard.scheduler()->left() > 0 || left_behind(shard) != nullptr;
}

bool WorkerHandler::has_something_for(const HostedShard& shard, const EnterRequest& request,
                                      Holder worker) const {
  const SampleScheduler& scheduler = *shard.scheduler();
  // A worker that is in goes on: others may wait for it.
  const ClockRow* const row = shard.row(worker);
  const bool is_in = row != nullptr && !row->away;
  const bool others_turn = server_.warming_up(shard) && !is_in && !goes_first(worker.node);
  const bool stops = request.stops != Ending::No && !scheduler.stopped();
  return (has_samples(shard) && !others_turn) || scheduler.over() ||
         scheduler.past() > request.epoch || stops;
}

// True: there are samples for the worker, and it is in; or it has an epoch's end to attend to.
Task<bool> WorkerHandler::enter_for_samples(HostedShard& shard, const EnterRequest& request,
                                            Holder worker, EnterAnswer& answer) {
  const auto must_wait = [&] {
    if (shard.at_work()) return true;
    if (!server_.is_head(shard) || !server_.present(worker)) return false;
    return left_open(shard, worker) || !has_something_for(shard, request, worker);
  };
  while (must_wait()) co_await shard.changed.wait();
  const HostedShard::Turn mine(shard);
  if (!server_.is_head(shard)) co_return false;
  require_present(server_.node, worker);  // Its shares may have been dealt again.
  stop_if_asked(shard, request.stops);
  const SampleScheduler& scheduler = *shard.scheduler();
  answer.ended = scheduler.ended();
  if (scheduler.over() || scheduler.past() > request.epoch) {
    answer.over = 1;
    answer.epoch = scheduler.past() > request.epoch ? request.epoch : scheduler.epoch();
    co_return true;
  }
  if (!has_samples(shard)) co_return false;
  const ClockRow* const row = shard.row(worker);
  if (row == nullptr || row->away) enter_first(shard, worker);
  answer.clock = shard.row(worker)->clock;
  answer.epoch = scheduler.past();
  co_return true;
}

// The first shard says what the worker's clock is: that of the slowest worker.
void WorkerHandler::enter_first(HostedShard& shard, Holder worker) {
  const ClockRow* const row = shard.row(worker);
  const std::uint64_t version = shard.state->version();
  std::uint64_t clock = server_.least_of(shard, version);
  if (row != nullptr) clock = std::max(clock, row->clock);
  // It has seen nothing of the present round.
  const std::optional<Round>& round = shard.scheduler()->dealt_round().round();
  if (server_.in_rounds()) clock = round ? round->number : version;
  enter(shard, worker, clock);
}

void WorkerHandler::enter_if_out(HostedShard& shard, Holder worker, std::uint64_t clock) {
  const ClockRow* const row = shard.row(worker);
  if (row == nullptr || row->away) enter(shard, worker, clock);
}

void WorkerHandler::enter(HostedShard& shard, Holder worker, std::uint64_t clock) {
  chain_.commit(shard, EnterRecord{{}, worker.node, worker.life, clock});
}

void WorkerHandler::stop_if_asked(HostedShard& shard, Ending how) {
  if (how == Ending::No || shard.scheduler()->stopped()) return;
  chain_.commit(shard, StopRecord{{}, how});
}

// Workers that have pushed may have waited for this one alone.
Task<void> WorkerHandler::answer(NodeId from, LeaveRequest request) {
  HostedShard& shard = server_.shards[request.header.shard];
  const Holder worker{from, request.header.life};
  {
    const HostedShard::Turn mine = co_await shard.turn();
    require_present(server_.node, worker);  // Its shares may have been dealt again.
    if (server_.is_head(shard)) {
      chain_.commit(shard, LeaveRecord{{}, worker.node, worker.life, request.settled});
      norms_.complete_if_due(shard);
    }
  }
  co_await chain_.until_acknowledged(shard);
  const LeaveAnswer answer;
  const Payload nothing;
  co_await answers_.reply_as_head(from, request, answer, nothing);
}

// Nothing of a life can come any more when the view is without it.
Task<void> WorkerHandler::answer(NodeId from, LostPushQuery request) {
  HostedShard& shard = server_.shards[request.header.shard];
  const Holder lost{request.worker, request.life};
  while (server_.present(lost)) co_await shard.changed.wait();
  // A push of it may be at work; those that wait for their turn will be refused.
  const HostedShard::Turn mine = co_await shard.turn();
  LostPushAnswer answer;
  if (server_.is_head(shard))
    if (const ClockRow* const row = shard.row(lost)) answer.clock = row->clock;
  const Payload nothing;
  co_await answers_.reply_as_head(from, request, answer, nothing);
}

}  // namespace shoal
