#include "ps/round_handler.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"
#include "ps/read_gate.h"
#include "ps/shard_directories.h"

namespace shoal {

// A shard that was loaded from a checkpoint may be behind: but where a later step is under way, all
// steps before were in the parameters of all shards.
bool may_read_round(const HostedShard& shard, std::uint64_t clock) {
  if (shard.state->version() >= clock) return true;
  const SampleScheduler* const scheduler = shard.scheduler();
  if (scheduler != nullptr) {
    const std::optional<Round>& round = scheduler->dealt_round().round();
    if (round && round->number >= clock) return true;
  }
  const std::optional<std::uint64_t> most = shard.state->most_waiting();
  return !most || *most > clock;
}

const RoundPiece* left_behind(const HostedShard& shard) {
  const RoundPiece* lost = nullptr;
  for (const RoundPiece& p : shard.scheduler()->dealt_round().pieces()) {
    if (!p.lost) return nullptr;
    if (lost == nullptr) lost = &p;
  }
  return lost;
}

// ---- Sums

Task<void> RoundHandler::answer(NodeId from, PushSumRequest request, std::optional<Gradient> sum) {
  HostedShard& shard = server_.shards[request.header.shard];
  const Holder worker{from, request.header.life};
  PushSumAnswer answer;
  {
    const HostedShard::Turn mine = co_await shard.turn_of_push(request.round.number);
    require_present(server_.node, worker);  // Its piece may have been given to others.
    if (server_.is_head(shard)) {
      workers_.enter_if_out(shard, worker, request.round.number);
      push_sum(shard, worker, request, std::move(sum), answer);
    }
  }
  if (shard.announced.end({from, request.header.number})) shard.changed.notify_all();
  co_await chain_.until_acknowledged(shard);
  Payload payload;
  if (server_.is_head(shard)) {
    // Every sum is answered when its update is made: if the shard is lost before, the worker pushes
    // the sum again, to the shard as it was saved.
    ReadGate gate(server_, shard, worker, request.round.number + 1);
    while (server_.is_head(shard) && gate.closed()) co_await shard.changed.wait();
    if (server_.is_head(shard) && request.reads != 0) gate.pass(answer.read, payload);
  }
  co_await answers_.reply_as_head(from, request, answer, std::move(payload));
}

// REQUIRES: the caller has the turn, and the worker is in.
void RoundHandler::push_sum(HostedShard& shard, Holder worker, const PushSumRequest& request,
                            std::optional<Gradient> sum, PushSumAnswer& answer) {
  const std::uint32_t shards = server_.plan.shards;
  if (request.of.to > shards || request.of.from >= request.of.to)
    throw Corrupt(fmt::format("node {} pushes shards {} to {} of {}", worker.node, request.of.from,
                              request.of.to, shards));
  recall(shard, worker, request);
  const ShardState& state = *shard.state;
  const std::uint64_t after = request.round.number + 1;
  // Where a later step is under way this one is over, too.
  const bool over = after <= state.version() || after < state.most_waiting().value_or(0);
  if (over || state.has_sum(after, request.of)) {
    server_.node.env.probe("ps: a push came twice");
    return;
  }
  answer.staleness = state.version() - std::min(state.version(), request.based_on);
  PushRecord record;
  record.worker = worker.node;
  record.life = worker.life;
  record.clock = record.version = after;
  record.based_on = request.based_on;
  record.samples = request.round.samples.n;
  record.of = request.of;
  record.completes = state.has_all(after, request.of) ? 1 : 0;
  chain_.commit(shard, record, std::move(sum));
}

// The scheduler may have been loaded from a checkpoint, and not know what its workers compute:
// every piece that this worker does not have counts as lost. REQUIRES: the caller has the turn.
void RoundHandler::recall(HostedShard& shard, Holder worker, const PushSumRequest& request) {
  const SampleScheduler* const scheduler = shard.scheduler();
  if (scheduler == nullptr || request.round.number < shard.state->version()) return;
  const std::optional<Round>& round = scheduler->dealt_round().round();
  if (round && round->number >= request.round.number) return;
  server_.node.env.probe("ps: a round that was dealt before the scheduler was loaded");
  const auto [from, to] = request.of;
  std::vector<RoundPiece> pieces{{worker.node, worker.life, from, to}};
  if (from > 0) pieces.push_back({worker.node, worker.life, 0, from, true});
  if (to < server_.plan.shards)
    pieces.push_back({worker.node, worker.life, to, server_.plan.shards, true});
  commit_pieces(shard, RecallRoundRecord{{}, request.round}, pieces);
}

// ---- Pieces

// A worker that the shard does not know enters with its clock.
Task<void> RoundHandler::enter(HostedShard& shard, Holder worker, std::uint64_t clock) {
  const HostedShard::Turn mine = co_await shard.turn();
  require_present(server_.node, worker);  // Its piece may have been given to others.
  if (server_.is_head(shard)) workers_.enter_if_out(shard, worker, clock);
}

Task<void> RoundHandler::answer(NodeId from, PieceRequest request) {
  HostedShard& shard = server_.shards[request.header.shard];
  const Holder worker{from, request.header.life};
  PieceAnswer answer;
  co_await enter(shard, worker, request.clock);
  const bool dealt = co_await give_piece(shard, worker, request, answer);
  co_await chain_.until_acknowledged(shard);
  if (!dealt) answer.header.outcome = RequestOutcome::NotHere;
  const Payload nothing;
  co_await answers_.reply_as_head(from, request, answer, nothing);
}

// False: this node is not the head any more.
Task<bool> RoundHandler::give_piece(HostedShard& shard, Holder worker, const PieceRequest& request,
                                    PieceAnswer& answer) {
  const WantedShare& wanted = request.wanted;
  const ShareWaiters::Asking asks(waiters_, worker, wanted.number);
  shard.changed.notify_all();
  const auto scheduler = [&] { return shard.scheduler(); };
  const auto own_piece = [&] {
    return scheduler()->dealt_round().piece_of(worker.node, worker.life);
  };
  // The present round, unless this worker has seen it in the parameters of all shards.
  const auto goes_on = [&] {
    const DealtRound& dealt = scheduler()->dealt_round();
    return dealt.round() && !dealt.settled_by(worker.node, worker.life, wanted.settled);
  };
  const auto must_wait = [&] {
    if (shard.busy()) return true;
    if (!server_.is_head(shard) || !server_.present(worker)) return false;
    if (goes_on())
      return own_piece() == nullptr && left_behind(shard) == nullptr && scheduler()->left() > 0;
    return scheduler()->at_start() && wanted.stops == Ending::No &&
           !waiters_.complete(server_.node.membership.now(), server_.options.ps.groups);
  };
  while (must_wait()) co_await shard.changed.wait();
  const HostedShard::Turn mine(shard);
  if (!server_.is_head(shard)) co_return false;
  require_present(server_.node, worker);  // Its piece may have been given to others.
  workers_.stop_if_asked(shard, wanted.stops);
  if (!goes_on()) {
    deal(shard, wanted);
  } else if (own_piece() == nullptr && left_behind(shard) != nullptr) {
    server_.node.env.probe("ps: a lost piece was taken by another worker");
    const RoundPiece& lost = *left_behind(shard);
    const RoundPiece piece{worker.node, worker.life, lost.from, lost.to};
    const std::uint64_t number = scheduler()->dealt_round().round()->number;
    commit_pieces(shard, DealRoundRecord{{}, number, 0}, std::span(&piece, 1));
  }
  const RoundPiece* const own = goes_on() ? own_piece() : nullptr;
  GivenShare& given = answer.given;
  if (own != nullptr) {
    answer.piece = shards_of(*scheduler()->dealt_round().round(), *own);
    given.share = samples_of(answer.piece.round, server_.plan.shards, own->from, own->to);
  }
  given.ended = scheduler()->ended();
  given.epoch = scheduler()->past();
  if (own == nullptr && scheduler()->over()) {
    given.over = 1;
    given.epoch = scheduler()->epoch();
  }
  co_return true;
}

// To all workers that ask, and to those that will soon: they have a piece of the last round.
// Logical shards without samples, which come last, belong to the last worker. REQUIRES: the caller
// has the turn.
void RoundHandler::deal(HostedShard& shard, const WantedShare& wanted) {
  const SampleScheduler& scheduler = *shard.scheduler();
  const std::uint64_t n = std::min(scheduler.left(), wanted.n);
  if (n == 0) return;
  std::uint64_t number = std::max(shard.state->version(), wanted.number);
  std::vector<Holder> all;
  for (const ClockRow& row : server_.table_of(shard).rows) {
    const Holder one{row.worker, row.life};
    const std::uint64_t* const asks = waiters_.number_of(one);
    if (asks != nullptr) number = std::max(number, *asks);
    if (asks != nullptr || scheduler.dealt_round().piece_of(one.node, one.life) != nullptr)
      all.push_back(one);
  }
  const std::uint64_t shards = std::min<std::uint64_t>(n, server_.plan.shards);
  const std::uint64_t workers = std::min<std::uint64_t>(shards, all.size());
  std::vector<RoundPiece> pieces;
  std::uint64_t from = 0;
  for (std::uint64_t i = 0; i < workers; ++i) {
    std::uint64_t to = from + shards / workers + (i < shards % workers ? 1 : 0);
    if (i + 1 == workers) to = server_.plan.shards;
    pieces.push_back({all[i].node, all[i].life, static_cast<std::uint32_t>(from),
                      static_cast<std::uint32_t>(to)});
    from = to;
  }
  commit_pieces(shard, DealRoundRecord{{}, number, n}, pieces);
}

void RoundHandler::commit_pieces(HostedShard& shard, const AnyRecord& record,
                                 std::span<const RoundPiece> pieces) {
  const auto words = std::make_shared<const std::vector<std::uint64_t>>(to_words(pieces));
  Gradient part{const_buf(std::span<const std::uint64_t>(*words)), words};
  chain_.commit(shard, record, std::move(part));
}

// ---- After a loss

Task<void> RoundHandler::answer(NodeId from, LostPieceRequest request) {
  HostedShard& shard = server_.shards[request.header.shard];
  const Holder worker{from, request.header.life};
  const auto here = [&] {
    if (!server_.is_head(shard)) return false;
    const ClockRow* const row = shard.row(worker);
    return row != nullptr && !row->away;
  };
  const auto dealt = [&]() -> const DealtRound& { return shard.scheduler()->dealt_round(); };
  const auto known = [&] { return dealt().round()->number == request.round ? request.known : 0; };
  const auto more = [&] { return dealt().round() && dealt().lost().size() > known(); };
  while (here() && !more()) co_await shard.changed.wait();
  LostPieceAnswer answer;
  if (here()) {
    answer.known = known() + 1;
    answer.piece = shards_of(*dealt().round(), dealt().lost()[answer.known - 1]);
  }
  const Payload nothing;
  co_await answers_.reply_as_head(from, request, answer, nothing);
}

Task<void> RoundHandler::bury_lost_pieces(HostedShard& shard) {
  const HostedShard::Turn mine = co_await shard.turn();
  if (!server_.is_head(shard)) co_return;
  std::vector<Holder> lost;
  for (const RoundPiece& p : shard.scheduler()->dealt_round().pieces())
    if (!p.lost && !server_.present({p.worker, p.life})) lost.push_back({p.worker, p.life});
  for (const Holder& one : lost) {
    server_.node.env.probe("ps: a piece of a round was lost with its worker");
    LoseRecord record;
    record.worker = one.node;
    record.life = one.life;
    chain_.commit(shard, record);
  }
}

}  // namespace shoal
