// ClockTable: a shard's knowledge of its workers. The gates of consistency.h are functions of it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/types.h"
#include "runtime/view.h"

namespace shoal {

struct ClockRow {
  NodeId worker;
  Incarnation life;
  std::uint64_t clock = 0;    // its pushes that arrived here
  std::uint64_t version = 0;  // of the parameters that it read last
  double unseen = 0;          // an upper bound of the sup-norm of the changes since then
  bool waits = false;  // it waits for its read, and will see all of that before it computes again
  bool away = false;   // it has no samples, and no worker waits for it

  auto operator<=>(const ClockRow&) const = default;
};

struct ClockTable {
  std::vector<ClockRow> rows;  // by worker

  bool operator==(const ClockTable& other) const { return rows == other.rows; }
  ClockRow* find(NodeId worker, Incarnation life);
  void clear();
  // The least clock of the workers that are present in the view; nothing if none is. Clocks only
  // grow, except by enter(), so that the search begins where the last one ended: over P pushes or
  // newcomers it visits 2 P rows.
  std::optional<std::uint64_t> least(const View& view) const;
  // Enters a worker that is new here, or in a new life, or was away.
  ClockRow& enter(NodeId worker, Incarnation life, std::uint64_t clock);

  // The result of least(): in this view no row has less, as long as one row has this clock.
  struct Found {
    Generation view;
    std::size_t row = 0;
    std::uint64_t clock = 0;
  };
  mutable std::optional<Found> found{};
};

// Without the rows of workers that are away or not in the view: the gates do not count them.
ClockTable present(ClockTable table, const View& view);

// REQUIRES: there is a row.
std::uint64_t min_clock(const ClockTable& table);

}  // namespace shoal
