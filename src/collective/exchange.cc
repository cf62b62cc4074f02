#include "collective/exchange.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "base/nearest.h"
#include "runtime/task_group.h"

namespace shoal {
constinit const ExchangeAlgorithm kAutoExchange{
    .name = "auto",
    .help = "the cheapest by the measured costs of links and work",
    .all_reduce = nullptr,
    .seconds = nullptr};

Exchange parse_exchange(std::string_view name) {
  for (const ExchangeRow& row : kExchangeRows)
    if (row.algorithm->name == name) return row.exchange;
  throw ConfigError(
      fmt::format("--exchange {}: this is not known. {}", name, suggest(name, exchange_names())));
}

std::vector<std::string> exchange_names(Exchange first) {
  std::vector<std::string> names;
  for (const ExchangeRow& row : kExchangeRows)
    if (row.exchange >= first) names.emplace_back(row.algorithm->name);
  return names;
}

Task<void> all_reduce(Exchange exchange, const Group& group, Range data, Range scratch,
                      std::uint64_t operation) {
  const auto run = algorithm_of(exchange).all_reduce;
  SHOAL_CHECK(run != nullptr, "the exchange was not chosen: see cost.h");
  return run(group, data, scratch, operation);
}

namespace {

constexpr std::uint64_t kUnderWay = 4;

Task<void> copy_and_reduce(Exchange exchange, const Group& group, Range data, Range sum,
                           Range scratch, std::uint64_t operation) {
  co_await group.node.env.work(Work::Copy, data.n, [&] { copy(data.bytes(), sum.bytes()); });
  co_await all_reduce(exchange, group, sum, scratch, operation);
}

// From `data` to `sum`, which may be one.
Task<void> all_reduce(Exchange exchange, const Group& group, Range data, Range sum, Range scratch,
                      std::uint64_t operation) {
  if (data.arena == sum.arena && data.at == sum.at)
    return all_reduce(exchange, group, sum, scratch, operation);
  const ExchangeAlgorithm& by = algorithm_of(exchange);
  if (by.all_reduce_to != nullptr &&
      (by.is_without_copy == nullptr || by.is_without_copy(group.size())))
    return by.all_reduce_to(group, data, sum, scratch, operation);
  return copy_and_reduce(exchange, group, data, sum, scratch, operation);
}

// Every `kUnderWay`-th piece from `first` on, one after the other.
Task<void> some_pieces(Exchange exchange, const Group& group, Range data, Range sum, Range scratch,
                       std::uint64_t operation, std::uint64_t pieces, std::uint64_t first) {
  for (std::uint64_t i = first; i < pieces; i += kUnderWay)
    co_await all_reduce(exchange, group, part_of(data, i, pieces), part_of(sum, i, pieces),
                        part_of(scratch, i, pieces), operation + i);
}

Task<void> all_pieces(Exchange exchange, const Group& group, Range data, Range sum, Range scratch,
                      std::uint64_t operation, std::uint64_t pieces) {
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    for (std::uint64_t first = 0; first < std::min(pieces, kUnderWay); ++first)
      tasks.spawn(some_pieces(exchange, group, data, sum, scratch, operation, pieces, first));
    co_return;
  });
}

}  // namespace

std::uint64_t pieces_of(Elements n, Elements piece) {
  return std::max<std::uint64_t>(1, (n.value() + piece.value() - 1) / piece.value());
}

Task<void> all_reduce_in_pieces(Exchange exchange, const Group& group, Range data, Range sum,
                                Range scratch, std::uint64_t operation, Elements piece) {
  SHOAL_CHECK_EQ(data.n, sum.n);
  const std::uint64_t pieces = pieces_of(data.n, piece);
  if (pieces == 1) return all_reduce(exchange, group, data, sum, scratch, operation);
  return all_pieces(exchange, group, data, sum, scratch, operation, pieces);
}

}  // namespace shoal
