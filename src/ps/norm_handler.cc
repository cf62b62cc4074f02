#include "ps/norm_handler.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "ps/consistency.h"

namespace shoal {
namespace {

// The first word of the sums that a shard sends.
enum class Known : std::uint64_t { Part, All, Nothing };

std::vector<std::uint64_t> sums_to_words(Known what, const Sums& sums) {
  std::vector<std::uint64_t> words{static_cast<std::uint64_t>(what)};
  for (const double x : sums.values) words.push_back(std::bit_cast<std::uint64_t>(x));
  return words;
}

Sums sums_from(std::span<const std::uint64_t> words) {
  Sums sums;
  for (const std::uint64_t word : words.subspan(1))
    sums.values.push_back(std::bit_cast<double>(word));
  return sums;
}

Known known_in(const std::vector<std::uint64_t>& words) { return static_cast<Known>(words.at(0)); }

}  // namespace

// ---- When an update is due

bool NormHandler::is_due(const HostedShard& shard) const {
  if (server_.in_rounds()) return false;  // It is made when all of it is here.
  const std::uint64_t pushes = shard.state->waiting_pushes();
  if (pushes == 0) return false;
  return completes(server_.options.ps.consistency, server_.table_of(shard), pushes,
                   shard.state->version());
}

void NormHandler::complete_if_due(HostedShard& shard) {
  if (!is_due(shard)) return;
  server_.node.env.probe("ps: an update without somebody who is gone");
  if (rounds(server_.plan.rule) > 0) return begin_measuring(shard);
  CompleteRecord record;
  record.version = version_after(server_.options.ps.consistency, server_.table_of(shard),
                                 shard.state->version());
  chain_.commit(shard, record);
}

Task<void> NormHandler::complete_without_lost(HostedShard& shard) {
  const HostedShard::Turn mine = co_await shard.turn();
  if (server_.is_head(shard)) complete_if_due(shard);
}

// ---- With norms

void NormHandler::begin_measuring(HostedShard& shard) {
  if (std::exchange(shard.measuring, true)) return;
  server_.spawn(complete_with_norms(shard));
}

// Waits for other shards without a turn: workers enter meanwhile, and views go on. A node that is
// not the head any more leaves it to the next head.
Task<void> NormHandler::complete_with_norms(HostedShard& shard) {
  Measured& measured = measured_[shard.number];
  Sums total;
  std::uint64_t version = 0, before = 0, pushes = 0;
  const auto same = [&] {
    return server_.is_head(shard) && shard.state->version() == before &&
           shard.state->waiting_pushes() == pushes && pushes > 0;
  };
  for (unsigned round = 0; round < rounds(server_.plan.rule); ++round) {
    bool late = false;
    {
      const HostedShard::Turn mine = co_await shard.turn();
      if (round == 0 && server_.is_head(shard)) {
        before = shard.state->version();
        pushes = shard.state->waiting_pushes();
        version = version_after(server_.options.ps.consistency, server_.table_of(shard), before);
      }
      if (!same()) break;
      ShardState& state = *shard.state;
      if (round == 0) co_await state.add_up();
      Sums own = co_await state.measure(round, total);
      measured[std::pair(version, round)] = std::move(own);
      late = version == before;
      if (const Sums* const made = late ? state.sums(version) : nullptr) {
        total = *made;
        break;
      }
    }
    shard.changed.notify_all();
    const bool all = co_await add_all(shard, version, round, late, total);
    if (all) break;
  }
  const HostedShard::Turn mine = co_await shard.turn();
  shard.measuring = false;
  if (!server_.is_head(shard)) co_return;
  std::erase_if(measured, [&](const auto& m) {
    return m.first.first + ShardState::kSumsKept < shard.state->version();
  });
  if (!same()) {
    if (is_due(shard)) begin_measuring(shard);
    co_return;
  }
  CompleteRecord record;
  record.version = version;
  std::optional<Gradient> part;
  if (!total.values.empty()) {
    const auto hold = std::make_shared<const std::vector<double>>(std::move(total.values));
    part = Gradient{const_buf(std::span<const double>(*hold)), hold};
  }
  chain_.commit(shard, record, std::move(part));
}

// Adds to the total the sums of all shards in a round, in their order. True: one of them has made
// the update, and `total` is that of all rounds.
Task<bool> NormHandler::add_all(HostedShard& shard, std::uint64_t version, unsigned round,
                                bool alone, Sums& total) {
  const Sums own = measured_[shard.number][std::pair(version, round)];
  const std::size_t shards = server_.cuts.size();
  std::vector<std::vector<std::uint64_t>> answers(shards);
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    for (std::uint32_t k = 0; !alone && k < shards; ++k)
      if (k != shard.number) tasks.spawn(ask_for_sums(k, version, round, answers[k]));
    co_return;
  });
  for (const std::vector<std::uint64_t>& words : answers)
    if (!words.empty() && known_in(words) == Known::All) {
      total = sums_from(words);
      co_return true;
    }
  Sums sum;
  for (std::uint32_t k = 0; k < shards; ++k) {
    if (k == shard.number) sum += own;
    if (!answers[k].empty() && known_in(answers[k]) == Known::Part) sum += sums_from(answers[k]);
  }
  total += sum;
  co_return false;
}

Task<void> NormHandler::ask_for_sums(std::uint32_t shard, std::uint64_t version, unsigned round,
                                     std::vector<std::uint64_t>& words) {
  SumsRequest request;
  request.header.shard = shard;
  request.version = version;
  request.round = round;
  Client::Room room;
  room.words = &words;
  co_await client_.call(request, room);
}

Task<void> NormHandler::answer(NodeId from, SumsRequest request) {
  HostedShard& shard = server_.shards[request.header.shard];
  const Measured& measured = measured_[shard.number];
  Payload payload;
  while (server_.is_head(shard)) {
    const auto part = measured.find(std::pair(request.version, request.round));
    const Sums* const all = shard.state->sums(request.version);
    std::optional<std::vector<std::uint64_t>> words;
    if (all != nullptr) {
      words = sums_to_words(Known::All, *all);
    } else if (part != measured.end()) {
      words = sums_to_words(Known::Part, part->second);
    } else if (shard.state->version() >= request.version) {
      server_.node.env.probe("ps: the norms of an update are not known any more");
      const Sums none;
      words = sums_to_words(Known::Nothing, none);
    }
    if (words) {
      payload.words = std::make_shared<const std::vector<std::uint64_t>>(std::move(*words));
      break;
    }
    co_await shard.changed.wait();
  }
  const SumsAnswer answer;
  co_await answers_.reply_as_head(from, request, answer, std::move(payload));
}

}  // namespace shoal
