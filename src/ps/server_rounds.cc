// A sixth of a server: rounds, where the recipe has logical shards. In step alone. Which samples
// are which shard of which step depends on nobody, and neither does the order of their sum: so the
// parameters come out the same however many workers there are, and whoever is lost.
//
//   scheduler, when all of the last round is in all parameters, as the first worker tells that has
//     read them: deal the next B samples, neighbouring shards to each worker that is in
//   head, on the sum of a subtree of shards:  keep it, once; when all shards are covered: update
//   a worker is lost:  tell all others of the round, each of which computes its piece too
//   ... and no other is left:  who is new takes the piece
//
// Cost: a message more a step than in step else, to ask for the next share when all was read; and
//   as many pushes as a worker's shards have largest subtrees. After a loss the piece is computed
//   by all that are left, so that the loss of one more of them matters to nobody.
// Failure: a step has the same bits whoever is lost in it, as long as one of its workers is left,
//   or no server has made its update by then, or all have. One that some have made and others have
//   not, with none of its workers left, is ended at what the servers have then.
#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "base/error.h"
#include "ps/server.h"

namespace shoal {

// REQUIRES: it is this one's turn, and the worker is in.
void Server::push_sum(HostedShard& held, const Ask& ask, std::optional<Gradient> gradient,
                      Answer& answer, TaskGroup& tasks) {
  const ShardState& state = *held.state;
  const Subtree of{ask.from, ask.to};
  const std::uint64_t after = ask.clock + ask.steps;
  answer.clock = ask.samples > 0 ? after : ask.clock;
  if (ask.samples == 0) return;
  if (ask.to > plan_.shards || ask.from >= ask.to)
    throw Corrupt(fmt::format("node {} pushes shards {} to {} of {}", ask.worker, ask.from, ask.to,
                              plan_.shards));
  recall_round(held, ask, tasks);
  // Or where a later step is under way this one is over.
  const bool over = after <= state.version() || after < state.most_waiting().value_or(0);
  if (over || state.has_sum(after, of)) {
    node_.env.probe("ps: a push came twice");
    return;
  }
  answer.staleness = state.version() - std::min(state.version(), ask.based_on);
  Record record;
  record.kind = Record::Kind::Push;
  record.worker = ask.worker;
  record.life = ask.life;
  record.clock = record.version = after;
  record.based_on = ask.based_on;
  record.samples = ask.samples;
  record.from = of.from;
  record.to = of.to;
  record.complete = state.has_all(after, of) ? 1 : 0;
  commit(held, record, std::move(gradient), tasks);
}

// The scheduler may have been loaded as it was saved, and not know what its workers are at:
// whatever this one does not have counts as lost. REQUIRES: as commit().
void Server::recall_round(HostedShard& held, const Ask& ask, TaskGroup& tasks) {
  SampleScheduler* const scheduler = held.state->scheduler();
  if (scheduler == nullptr || ask.clock < held.state->version() ||
      (scheduler->dealt_round().round() && scheduler->dealt_round().round()->number >= ask.clock))
    return;
  node_.env.probe("ps: a round that was dealt before the scheduler was loaded");
  std::vector<RoundPiece> pieces{{ask.worker, ask.life, ask.from, ask.to}};
  if (ask.from > 0) pieces.push_back({ask.worker, ask.life, 0, ask.from, true});
  if (ask.to < plan_.shards) pieces.push_back({ask.worker, ask.life, ask.to, plan_.shards, true});
  Record record;
  record.share = ask.clock;
  record.end = 1;
  record.version = ask.round.epoch;
  record.clock = ask.round.at;
  record.n = ask.round.n;
  commit_pieces(held, record, pieces, tasks);
}

// After the push of a step, and before the next one. A shard that was loaded as it was saved may be
// behind: but where a later step is under way all before were in the parameters of all shards.
bool Server::may_read_round(HostedShard& held, std::uint64_t clock) const {
  if (held.state->version() >= clock) return true;
  const SampleScheduler* const scheduler = held.state->scheduler();
  if (scheduler != nullptr && scheduler->dealt_round().round() &&
      scheduler->dealt_round().round()->number >= clock)
    return true;
  const std::optional<std::uint64_t> most = held.state->most_waiting();
  return !most || *most > clock;
}

// A piece that nobody will push who has begun the round.
const RoundPiece* Server::left_behind(const HostedShard& held) const {
  const SampleScheduler& scheduler = *held.state->scheduler();
  const RoundPiece* lost = nullptr;
  for (const RoundPiece& p : scheduler.dealt_round().pieces()) {
    if (!p.lost) return nullptr;
    if (lost == nullptr) lost = &p;
  }
  return lost;
}

// False: this is not the head any more.
Task<bool> Server::share_of_round(HostedShard& held, const Ask& ask, Answer& answer,
                                  TaskGroup& tasks) {
  const Asking asks(*this, {ask.worker, ask.life}, ask.share);
  held.changed.notify_all();
  const auto scheduler = [&] { return held.state->scheduler(); };
  // The round at hand, unless this worker has seen it in the parameters of all shards.
  const auto goes_on = [&] {
    return scheduler()->dealt_round().round() &&
           !scheduler()->dealt_round().settled_by(ask.worker, ask.life, ask.settled);
  };
  const auto must_wait = [&] {
    if (held.busy) return true;
    if (!is_head(held) || !node_.membership.now().has(ask.worker, ask.life)) return false;
    if (goes_on())
      return scheduler()->dealt_round().piece_of(ask.worker, ask.life) == nullptr &&
             left_behind(held) == nullptr && scheduler()->left() > 0;
    return scheduler()->at_start() && ask.stops == 0 && !all_are_in();
  };
  while (must_wait()) co_await held.changed.wait();
  const Turn mine(held);
  if (!is_head(held)) co_return false;
  require_present(node_, {ask.worker, ask.life});  // It may have been buried.
  stop_if_asked(held, ask, tasks);
  if (!goes_on()) {
    deal_round(held, ask, tasks);
  } else if (scheduler()->dealt_round().piece_of(ask.worker, ask.life) == nullptr &&
             left_behind(held) != nullptr) {
    node_.env.probe("ps: a lost piece was taken by another worker");
    RoundPiece piece = *left_behind(held);
    piece.worker = ask.worker;
    piece.life = ask.life;
    piece.lost = false;
    Record record;
    record.share = scheduler()->dealt_round().round()->number;
    commit_pieces(held, record, std::span(&piece, 1), tasks);
  }
  const RoundPiece* const own =
      goes_on() ? scheduler()->dealt_round().piece_of(ask.worker, ask.life) : nullptr;
  if (own != nullptr) tell_piece(*scheduler()->dealt_round().round(), *own, answer);
  answer.ended = scheduler()->ended();
  answer.epoch = scheduler()->past();
  if (own == nullptr && scheduler()->over()) {
    answer.kind = Answer::Kind::Over;
    answer.epoch = scheduler()->epoch();
  }
  co_return true;
}

void Server::tell_piece(const Round& round, const RoundPiece& piece, Answer& answer) const {
  answer.clock = round.number;
  answer.round = round.samples;
  answer.share = samples_of(round, plan_.shards, piece.from, piece.to);
  answer.from = piece.from;
  answer.to = piece.to;
}

// To all who have asked, and to those who are about to: they have a piece of the last round. Shards
// without samples, which come last, belong to the last of them. REQUIRES: as commit().
void Server::deal_round(HostedShard& held, const Ask& ask, TaskGroup& tasks) {
  const SampleScheduler& scheduler = *held.state->scheduler();
  const std::uint64_t n = std::min(scheduler.left(), ask.wants_share);
  if (n == 0) return;
  std::uint64_t number = std::max(held.state->version(), ask.share);
  std::vector<Holder> all;
  for (const ClockRow& row : table_of(held).rows) {
    const Holder one{row.worker, row.life};
    const auto asks = asking_.find(one);
    if (asks != asking_.end()) number = std::max(number, asks->second);
    if (asks != asking_.end() || scheduler.dealt_round().piece_of(one.node, one.life) != nullptr)
      all.push_back(one);
  }
  const std::uint64_t shards = std::min<std::uint64_t>(n, plan_.shards);
  const std::uint64_t workers = std::min<std::uint64_t>(shards, all.size());
  std::vector<RoundPiece> pieces;
  std::uint64_t from = 0;
  for (std::uint64_t i = 0; i < workers; ++i) {
    std::uint64_t to = from + shards / workers + (i < shards % workers ? 1 : 0);
    if (i + 1 == workers) to = plan_.shards;
    pieces.push_back({all[i].node, all[i].life, static_cast<std::uint32_t>(from),
                      static_cast<std::uint32_t>(to)});
    from = to;
  }
  Record record;
  record.share = number;
  record.n = n;
  commit_pieces(held, record, pieces, tasks);
}

void Server::commit_pieces(HostedShard& held, Record record, std::span<const RoundPiece> pieces,
                           TaskGroup& tasks) {
  const auto words = std::make_shared<const std::vector<std::uint64_t>>(to_words(pieces));
  record.kind = Record::Kind::Deal;
  record.samples = words->size();
  Gradient part{const_buf(std::span<const std::uint64_t>(*words)), words};
  commit(held, record, std::move(part), tasks);
}

// As soon as there is one that the worker does not know of, or when it has left.
Task<void> Server::answer_follow_round(NodeId from, Ask ask) {
  HostedShard& held = held_[ask.shard];
  const auto here = [&] {
    if (!is_head(held)) return false;
    const ClockRow* const row = held.state->table().find(ask.worker, ask.life);
    return row != nullptr && !row->away;
  };
  const auto known = [&] {
    return held.state->scheduler()->dealt_round().round()->number == ask.share ? ask.block : 0;
  };
  const auto more = [&] {
    const SampleScheduler& scheduler = *held.state->scheduler();
    return scheduler.dealt_round().round() && scheduler.dealt_round().lost().size() > known();
  };
  while (here() && !more()) co_await held.changed.wait();
  Answer answer;
  if (!is_head(held)) {
    answer.kind = Answer::Kind::NotHere;
  } else if (here()) {
    const SampleScheduler& scheduler = *held.state->scheduler();
    answer.block = static_cast<std::uint32_t>(known() + 1);
    tell_piece(*scheduler.dealt_round().round(), scheduler.dealt_round().lost()[answer.block - 1],
               answer);
  }
  co_await reply(from, ask, answer);
}

// What the lost have not pushed others compute.
Task<void> Server::bury_lost_pieces(HostedShard& held, TaskGroup& tasks) {
  const Turn mine = co_await turn(held);
  if (!is_head(held)) co_return;
  std::vector<Holder> lost;
  for (const RoundPiece& p : held.state->scheduler()->dealt_round().pieces())
    if (!p.lost && !node_.membership.now().has(p.worker, p.life))
      lost.push_back({p.worker, p.life});
  for (const Holder& one : lost) {
    node_.env.probe("ps: a piece of a round was lost with its worker");
    Record record;
    record.kind = Record::Kind::Lose;
    record.worker = one.node;
    record.life = one.life;
    commit(held, record, tasks);
  }
}

}  // namespace shoal
