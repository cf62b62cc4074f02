#include "collective/direct.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "collective/cost_terms.h"
#include "collective/exchange.h"
#include "collective/reduce.h"
#include "collective/steps.h"
#include "runtime/task_group.h"

namespace shoal {
namespace {

constexpr std::uint64_t kReduce = 0;
constexpr std::uint64_t kGather = 1;

Task<void> read_term(const Group& group, NodeId from, Tag tag, Bytes size,
                     std::optional<Reading>& term) {
  const Match match{.from = from, .tag = tag};
  Reading reading = co_await group.node.endpoint.read(match);
  require_size(reading, size);
  term = std::move(reading);
}

// own = the sum of the terms' `mine`, in their order. Releases every other member's part at the
// end.
Task<void> sum_parts(const Group& group, Range mine, Range own, std::span<const Rank> terms,
                     Tag tag) {
  std::vector<std::optional<Reading>> readings(terms.size());
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    for (std::size_t i = 0; i < terms.size(); ++i)
      if (terms[i] != group.rank)
        tasks.spawn(
            read_term(group, group.view->at(terms[i]), tag, mine.bytes().size, readings[i]));
    co_return;
  });
  std::vector<const float*> from;
  for (const std::optional<Reading>& reading : readings)
    from.push_back(reading ? floats(reading->data()).data() : mine.data().data());
  co_await sum_up(group.node.env, own, terms.size(), std::move(from));
}

Task<void> reduce_scatter(const Group& group, Range data, const Cuts& cuts, Range own,
                          std::span<const Rank> terms, std::uint64_t operation) {
  const std::uint64_t P = group.size();
  const std::uint64_t r = group.rank.value();
  const Range mine = cut_of(data, cuts[r]);
  SHOAL_CHECK_EQ(own.n, mine.n);
  const Tag tag = group.tag(operation, kReduce);
  const bool counts = std::ranges::find(terms, group.rank) != terms.end();
  // Rank r starts with r+1 and goes around, so that every member receives one part at a time.
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    for (std::uint64_t k = 1; counts && k < P; ++k) {
      const std::uint64_t to = (r + k) % P;
      const Range part = cut_of(data, cuts[to]);
      if (part.n > Elements(0)) tasks.spawn(as_task(give(group, group.at(to), tag, part)));
    }
    if (mine.n > Elements(0)) co_await sum_parts(group, mine, own, terms, tag);
  });
}

std::vector<Rank> all_ranks(const Group& group) {
  std::vector<Rank> ranks;
  for (std::uint32_t r = 0; r < group.size(); ++r) ranks.emplace_back(r);
  return ranks;
}

Cuts even_cuts(const Group& group, const Range& data) {
  Cuts cuts;
  for (std::uint64_t r = 0; r < group.size(); ++r) {
    const Range part = part_of(data, r, group.size());
    cuts.push_back({part.at - data.at, part.n});
  }
  return cuts;
}

}  // namespace

Task<void> direct_reduce_scatter(const Group& group, Range data, Range own,
                                 std::uint64_t operation) {
  const std::vector<Rank> terms = all_ranks(group);
  const Cuts cuts = even_cuts(group, data);
  co_await reduce_scatter(group, data, cuts, own, terms, operation);
}

Task<void> direct_reduce_scatter(const Group& group, Range data, const Cuts& cuts,
                                 std::span<const Rank> terms, std::uint64_t operation) {
  if (group.size() == 1) co_return;
  const Range own = cut_of(data, cuts[group.rank.value()]);
  co_await reduce_scatter(group, data, cuts, own, terms, operation);
}

Task<void> direct_reduce_scatter(const Group& group, Range data, std::uint64_t operation) {
  const std::vector<Rank> terms = all_ranks(group);
  const Cuts cuts = even_cuts(group, data);
  co_await direct_reduce_scatter(group, data, cuts, terms, operation);
}

Task<void> direct_all_gather(const Group& group, Range data, const Cuts& cuts,
                             std::uint64_t operation) {
  const std::uint64_t P = group.size();
  const std::uint64_t r = group.rank.value();
  if (P == 1) co_return;
  const Range own = cut_of(data, cuts[r]);
  const Tag tag = group.tag(operation, kGather);
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    for (std::uint64_t k = 1; k < P; ++k) {
      const std::uint64_t from = (r + P - k) % P;
      const Range part = cut_of(data, cuts[from]);
      const NodeId to = group.at((r + k) % P);
      if (part.n > Elements(0)) tasks.spawn(receive(group, group.at(from), tag, part.bytes()));
      if (own.n > Elements(0)) tasks.spawn(as_task(group.node.endpoint.send(to, tag, own.bytes())));
    }
    co_return;
  });
}

Task<void> direct_all_gather(const Group& group, Range data, std::uint64_t operation) {
  const Cuts cuts = even_cuts(group, data);
  co_await direct_all_gather(group, data, cuts, operation);
}

Task<void> direct_all_reduce(const Group& group, Range data, std::uint64_t operation) {
  co_await direct_reduce_scatter(group, data, operation);
  co_await direct_all_gather(group, data, operation);
}

Task<void> direct_all_reduce(const Group& group, Range data, Range sum, std::uint64_t operation) {
  const Range own = part_of(sum, group.rank.value(), group.size());
  co_await direct_reduce_scatter(group, data, own, operation);
  co_await direct_all_gather(group, sum, operation);
}

namespace {

Task<void> all_reduce_in_place(const Group& group, Range data, Range /*scratch*/,
                               std::uint64_t operation) {
  return direct_all_reduce(group, data, operation);
}

Task<void> all_reduce_elsewhere(const Group& group, Range data, Range sum, Range /*scratch*/,
                                std::uint64_t operation) {
  return direct_all_reduce(group, data, sum, operation);
}

double direct_seconds(const CostTerms& t) {
  const double others = (t.P - 1) / t.P * t.m;
  const double abroad = t.far ? t.k * (t.P - t.k) / t.P * t.m * t.out.beta : 0;
  const double copied = t.far ? abroad : others * t.in.beta;
  return 2 * (t.link.alpha + (t.P - 2) * t.link.overhead) + abroad + copied + others * t.gamma;
}

}  // namespace

constinit const ExchangeAlgorithm kDirectExchange{
    .name = "direct",
    .help = "each member sums a part, and sends it to all",
    .all_reduce = all_reduce_in_place,
    .seconds = direct_seconds,
    .all_reduce_to = all_reduce_elsewhere};

}  // namespace shoal
