// A fifth of a server: updates by rules that need norms, of tensors or of the whole gradient, of
// which a shard has only a part (optim/update.h; LARS, LAMB, clipping). In step alone: there all
// shards make the same updates, and a version has the same pushes at each.
//
//   head, when an update is due:  add up the pushes that wait
//     in each round:              measure; ask the heads of all other shards for what they measured
//     then:                       Complete, with the sums: every copy applies the same
//
// Cost: an answer of 1 + 2L numbers, of L tensors, from each of S - 1 servers a round.
// Failure: the next head of a shard measures anew, and asks anew. Whoever has made the update
//   already answers with the sums of all; one that does not know them any more, since it was
//   loaded, is left out. A push that comes after its step was made without it is scaled as that
//   step was.
#include <algorithm>
#include <bit>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "ps/server.h"

namespace shoal {
namespace {

// The first word of what a shard tells.
enum class Known : std::uint64_t { Part, All, Nothing };

std::vector<std::uint64_t> words_of(Known what, const Sums& sums) {
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

bool Server::is_due(const HostedShard& held) const {
  if (in_rounds()) return false;  // It is made when all of it is here, whoever is not.
  if (held.state->waiting_pushes() == 0) return false;
  return completes(options_.ps.consistency, table_of(held), held.state->waiting_pushes(),
                   held.state->version());
}

// REQUIRES: as commit().
void Server::begin_measuring(HostedShard& held, TaskGroup& tasks) {
  if (std::exchange(held.measuring, true)) return;
  tasks.spawn(complete_with_norms(held, tasks));
}

// Waits for others without a turn: who is new comes in meanwhile, and views go on. Who is not the
// head any more leaves it to the next one.
Task<void> Server::complete_with_norms(HostedShard& held, TaskGroup& tasks) {
  Sums total;
  std::uint64_t version = 0, before = 0, pushes = 0;
  const auto same = [&] {
    return is_head(held) && held.state->version() == before &&
           held.state->waiting_pushes() == pushes && pushes > 0;
  };
  for (unsigned round = 0; round < rounds(plan_.rule); ++round) {
    bool late = false;
    {
      const Turn mine = co_await turn(held);
      if (round == 0 && is_head(held)) {
        before = held.state->version();
        pushes = held.state->waiting_pushes();
        version = version_after(options_.ps.consistency, table_of(held), before);
      }
      if (!same()) break;
      ShardState& state = *held.state;
      if (round == 0) co_await state.add_up();
      Sums own = co_await state.measure(round, total);
      held.measured[std::pair(version, round)] = std::move(own);
      late = version == before;
      if (const Sums* const made = late ? state.sums(version) : nullptr) {
        total = *made;
        break;
      }
    }
    held.changed.notify_all();
    const bool all = co_await hear_of_all(held, version, round, late, total);
    if (all) break;
  }
  const Turn mine = co_await turn(held);
  held.measuring = false;
  if (!is_head(held)) co_return;
  std::erase_if(held.measured, [&](const auto& m) {
    return m.first.first + ShardState::kSumsKept < held.state->version();
  });
  if (!same()) {
    if (is_due(held)) begin_measuring(held, tasks);
    co_return;
  }
  Record record;
  record.kind = Record::Kind::Complete;
  record.version = version;
  record.samples = total.values.size();
  const auto hold = std::make_shared<const std::vector<double>>(std::move(total.values));
  Gradient sums{const_buf(std::span<const double>(*hold)), hold};
  commit(held, record, std::move(sums), tasks);
}

// Adds to the total what all shards have measured in a round, in their order. True: one of them has
// made the update, and `total` is that of all rounds.
Task<bool> Server::hear_of_all(HostedShard& held, std::uint64_t version, unsigned round, bool alone,
                               Sums& total) {
  const Sums own = held.measured[std::pair(version, round)];
  std::vector<std::vector<std::uint64_t>> heard(cuts_.size());
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    for (std::uint32_t k = 0; !alone && k < cuts_.size(); ++k)
      if (k != held.number) tasks.spawn(hear_of(k, version, round, heard[k]));
    co_return;
  });
  for (const std::vector<std::uint64_t>& words : heard)
    if (!words.empty() && known_in(words) == Known::All) {
      total = sums_from(words);
      co_return true;
    }
  Sums sum;
  for (std::uint32_t k = 0; k < cuts_.size(); ++k) {
    if (k == held.number) sum += own;
    if (!heard[k].empty() && known_in(heard[k]) == Known::Part) sum += sums_from(heard[k]);
  }
  total += sum;
  co_return false;
}

Task<void> Server::hear_of(std::uint32_t shard, std::uint64_t version, unsigned round,
                           std::vector<std::uint64_t>& words) {
  co_await client_.sums(shard, version, round, words);
}

Task<void> Server::answer_sums(NodeId from, Ask ask) {
  HostedShard& held = held_[ask.shard];
  Payload payload;
  while (is_head(held)) {
    const auto part = held.measured.find(std::pair(ask.version, ask.block));
    const Sums* const all = held.state->sums(ask.version);
    std::optional<std::vector<std::uint64_t>> words;
    if (all != nullptr) {
      words = words_of(Known::All, *all);
    } else if (part != held.measured.end()) {
      words = words_of(Known::Part, part->second);
    } else if (held.state->version() >= ask.version) {
      node_.env.probe("ps: the norms of an update are not known any more");
      const Sums none;
      words = words_of(Known::Nothing, none);
    }
    if (words) {
      payload.news = std::make_shared<const std::vector<std::uint64_t>>(std::move(*words));
      break;
    }
    co_await held.changed.wait();
  }
  Answer answer;
  if (!is_head(held)) answer.kind = Answer::Kind::NotHere;
  if (answer.kind == Answer::Kind::NotHere) payload = Payload();
  co_await reply(from, ask, answer, std::move(payload));
}

}  // namespace shoal
