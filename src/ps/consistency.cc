#include "ps/consistency.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/check.h"
#include "base/error.h"
#include "base/nearest.h"

namespace shoal {
namespace {

using Kind = Consistency::Kind;
constexpr std::array<std::string_view, 7> kKinds = {"synchronous", "softsync", "bounded", "value",
                                                    "reject",      "async",    "backup"};

template <class Number>
Number number(std::string_view text, std::string_view of, std::string_view kind) {
  Number n = 0;
  const char* const end = of.data() + of.size();
  const auto [stopped, error] = std::from_chars(of.data(), end, n);
  if (error != std::errc{} || stopped != end)
    throw ConfigError(fmt::format("--consistency {}: needed is {}", text, kind));
  return n;
}

}  // namespace

Consistency parse_consistency(std::string_view text) {
  const std::string_view name = text.substr(0, text.find(':'));
  const std::string_view of = name.size() == text.size() ? "" : text.substr(name.size() + 1);
  const auto it = std::ranges::find(kKinds, name);
  if (it == kKinds.end())
    throw ConfigError(
        fmt::format("--consistency {}: this is not known. {}", text,
                    suggest(name, std::vector<std::string>(kKinds.begin(), kKinds.end()))));
  Consistency c{static_cast<Kind>(it - kKinds.begin())};
  switch (c.kind) {
    case Kind::Synchronous:
    case Kind::Async:
      if (name.size() != text.size())
        throw ConfigError(fmt::format("--consistency {}: {} has no number", text, name));
      break;
    case Kind::Softsync:
    case Kind::Bounded:
    case Kind::Reject:
    case Kind::Backup:
      c.bound = number<std::uint64_t>(text, of, fmt::format("{}:N, as in {}:3", name, name));
      if ((c.kind == Kind::Softsync || c.kind == Kind::Backup) && c.bound == 0)
        throw ConfigError(fmt::format("--consistency {}: needed is a number from 1 on", text));
      break;
    case Kind::Value:
      c.change = number<double>(text, of, "value:D, as in value:0.1");
      if (!(c.change > 0) || !std::isfinite(c.change))
        throw ConfigError(fmt::format("--consistency {}: needed is a number above 0", text));
      break;
  }
  return c;
}

std::string to_string(const Consistency& c) {
  const std::string_view name = kKinds[static_cast<std::size_t>(c.kind)];
  switch (c.kind) {
    case Kind::Synchronous:
    case Kind::Async: return std::string(name);
    case Kind::Value: return fmt::format("{}:{}", name, c.change);
    default: return fmt::format("{}:{}", name, c.bound);
  }
}

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

bool moves_in_step(const Consistency& c) {
  return c.kind == Kind::Synchronous || (c.kind == Kind::Bounded && c.bound == 0);
}

bool counts_clocks(const Consistency& c) {
  return moves_in_step(c) || c.kind == Kind::Softsync || c.kind == Kind::Backup;
}

bool goes_by_steps(const Consistency& c) { return moves_in_step(c) || c.kind == Kind::Backup; }

bool may_read(const Consistency& c, const ClockTable& table, std::uint64_t clock,
              std::uint64_t version, std::uint64_t pushes) {
  if (moves_in_step(c) && version < clock)
    return pushes == 0 && !table.rows.empty() && min_clock(table) >= clock;
  if (c.kind != Kind::Bounded || c.bound == 0 || table.rows.empty()) return true;
  return clock <= min_clock(table) + c.bound;
}

Admission admits(const Consistency& c, const ClockTable& table, const ClockRow& row,
                 std::uint64_t version, std::uint64_t based_on, double change) {
  if (c.kind == Kind::Reject)
    return version > based_on + c.bound ? Admission::Never : Admission::Now;
  // The step that it was computed for has been made without it.
  if (c.kind == Kind::Backup) return version > based_on ? Admission::Never : Admission::Now;
  if (c.kind != Kind::Value) return Admission::Now;
  double behind = 0;
  for (const ClockRow& r : table.rows)
    if (r.worker != row.worker && !r.waits) behind = std::max(behind, r.unseen);
  // By itself it may be larger than the bound: then nobody may be behind.
  return behind <= 0 || behind + change < c.change ? Admission::Now : Admission::Later;
}

bool completes(const Consistency& c, const ClockTable& table, std::uint64_t pushes,
               std::uint64_t version) {
  if (pushes == 0) return false;
  if (moves_in_step(c)) return table.rows.empty() || min_clock(table) > version;
  return pushes >= pushes_per_update(c, table.rows.size());
}

std::uint64_t pushes_per_update(const Consistency& c, std::uint64_t workers) {
  if (moves_in_step(c)) return workers;
  if (c.kind == Kind::Backup) return workers > c.bound ? workers - c.bound : 1;
  return c.kind == Kind::Softsync ? std::max<std::uint64_t>(1, workers / c.bound) : 1;
}

std::uint64_t version_after(const Consistency& c, const ClockTable& table, std::uint64_t version) {
  if (!moves_in_step(c) || table.rows.empty()) return version + 1;
  return std::max(version, min_clock(table));
}

}  // namespace shoal
