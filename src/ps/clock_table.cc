#include "ps/clock_table.h"

#include <algorithm>

#include "base/check.h"

namespace shoal {

ClockRow* ClockTable::find(NodeId worker, Incarnation life) {
  const auto it = std::ranges::lower_bound(rows, worker, {}, &ClockRow::worker);
  return it == rows.end() || it->worker != worker || it->life != life ? nullptr : &*it;
}

void ClockTable::clear() {
  rows.clear();
  found.reset();
}

std::optional<std::uint64_t> ClockTable::least(const View& view) const {
  const auto counts = [&](const ClockRow& r) { return !r.away && view.has(r.worker, r.life); };
  if (found && found->view != view.generation) found.reset();
  for (std::size_t i = 0; found && i < rows.size(); ++i) {
    const std::size_t at = (found->row + i) % rows.size();
    if (rows[at].clock != found->clock || !counts(rows[at])) continue;
    found->row = at;
    return found->clock;
  }
  found.reset();
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (counts(rows[i]) && (!found || rows[i].clock < found->clock))
      found = Found{view.generation, i, rows[i].clock};
  return found ? std::optional(found->clock) : std::nullopt;
}

ClockRow& ClockTable::enter(NodeId worker, Incarnation life, std::uint64_t clock) {
  const auto at = std::ranges::lower_bound(rows, worker, {}, &ClockRow::worker);
  const bool there = at != rows.end() && at->worker == worker;
  ClockRow& row = there ? *at : *rows.insert(at, ClockRow());
  if (found && clock < found->clock) found.reset();
  row = ClockRow{worker, life, clock};
  return row;
}

ClockTable present(ClockTable table, const View& view) {
  std::erase_if(table.rows,
                [&](const ClockRow& r) { return r.away || !view.has(r.worker, r.life); });
  return table;
}

std::uint64_t min_clock(const ClockTable& table) {
  SHOAL_CHECK(!table.rows.empty());
  return std::ranges::min(table.rows, {}, &ClockRow::clock).clock;
}

}  // namespace shoal
