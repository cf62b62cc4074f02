// Exchange: the algorithm that sums a range over the members of a group. Each has a file of its
// own, with its cost.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collective/group.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

enum class Exchange : std::uint8_t {
  Auto,  // by the measured costs of links and work: cost.h
  Ring,
  Butterfly,
  HalvingDoubling,
  Tree,
  DoubleTree,
  Direct,
  Hierarchical,
};

struct CostTerms;
struct GroupShape;

// All there is to say about an exchange.
struct ExchangeAlgorithm {
  std::string_view name;  // "halving-doubling"
  std::string_view help;
  Task<void> (*all_reduce)(const Group& group, Range data, Range scratch, std::uint64_t operation);
  double (*seconds)(const CostTerms& terms);  // as predicted: cost.h

  // The same from `data` to `sum` without a copy beforehand, if there is a way, and for how many
  // members; null: for any number.
  Task<void> (*all_reduce_to)(const Group& group, Range data, Range sum, Range scratch,
                              std::uint64_t operation) = nullptr;
  bool (*is_without_copy)(std::uint64_t members) = nullptr;

  // For the choice by cost: where it takes part (null: everywhere), and the factor of its cost.
  bool (*is_useful)(const GroupShape& shape) = nullptr;
  double weight = 1;
};

// Each is defined in the file of its algorithm. A new exchange has a value above, a declaration and
// a row.
extern const ExchangeAlgorithm kAutoExchange;
extern const ExchangeAlgorithm kRingExchange;
extern const ExchangeAlgorithm kButterflyExchange;
extern const ExchangeAlgorithm kHalvingDoublingExchange;
extern const ExchangeAlgorithm kTreeExchange;
extern const ExchangeAlgorithm kDoubleTreeExchange;
extern const ExchangeAlgorithm kDirectExchange;
extern const ExchangeAlgorithm kHierarchicalExchange;

struct ExchangeRow {
  Exchange exchange;
  const ExchangeAlgorithm* algorithm;
};
inline constexpr std::array kExchangeRows = {
    ExchangeRow{Exchange::Auto, &kAutoExchange},
    ExchangeRow{Exchange::Ring, &kRingExchange},
    ExchangeRow{Exchange::Butterfly, &kButterflyExchange},
    ExchangeRow{Exchange::HalvingDoubling, &kHalvingDoublingExchange},
    ExchangeRow{Exchange::Tree, &kTreeExchange},
    ExchangeRow{Exchange::DoubleTree, &kDoubleTreeExchange},
    ExchangeRow{Exchange::Direct, &kDirectExchange},
    ExchangeRow{Exchange::Hierarchical, &kHierarchicalExchange},
};
inline constexpr std::size_t kExchanges = kExchangeRows.size();
static_assert(
    [] {
      for (std::size_t i = 0; i < kExchanges; ++i)
        if (static_cast<std::size_t>(kExchangeRows[i].exchange) != i) return false;
      return true;
    }(),
    "the rows follow the enum's order");

// Those that can be run, which Auto cannot. The first is preferred where costs are equal.
inline constexpr auto kAllReduces = [] {
  std::array<Exchange, kExchanges - 1> all{Exchange::Direct};
  std::size_t n = 1;
  for (const ExchangeRow& row : kExchangeRows)
    if (row.exchange != Exchange::Auto && row.exchange != Exchange::Direct) all[n++] = row.exchange;
  return all;
}();

constexpr const ExchangeAlgorithm& algorithm_of(Exchange exchange) {
  return *kExchangeRows[static_cast<std::size_t>(exchange)].algorithm;
}
inline std::string_view to_string(Exchange exchange) { return algorithm_of(exchange).name; }
Exchange parse_exchange(std::string_view name);  // an unknown one is a ConfigError
// From this one on, in the order of the rows.
std::vector<std::string> exchange_names(Exchange first = Exchange::Auto);

// On return `data` holds the sum over all members, with the same bits on all of them. `scratch` has
// the size of data, and both live until the generation is retired.
// REQUIRES: the same exchange, other than Auto, operation and data.n on all members.
Task<void> all_reduce(Exchange exchange, const Group& group, Range data, Range scratch,
                      std::uint64_t operation);

// The same from `data` to `sum`, which may be one, in pieces of at most so many elements. A few are
// under way at once: while one is copied or added up another is on the wire. `data` stays as it is,
// and must until the end. Takes the operations [operation, operation + pieces_of(data.n, piece)).
Task<void> all_reduce_in_pieces(Exchange exchange, const Group& group, Range data, Range sum,
                                Range scratch, std::uint64_t operation, Elements piece);
std::uint64_t pieces_of(Elements n, Elements piece);

}  // namespace shoal
