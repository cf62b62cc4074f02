// Consistency: when a worker may read the parameters of a shard, and when pushes become an update.
// Each consistency is a struct whose members are its rule: pure functions over a clock table, so
// that each can be read, tested and planted with bugs alone.
//
//   text form    an update consists of         a worker that has pushed c times may read when
//   synchronous  one push of each worker       version >= c, or all have pushed c times
//   backup:B     the first P - B pushes that   its push is in it, or came   Chen et al. 2016
//                are based on this version     too late
//   softsync:n   any floor(P/n) pushes         always                       Gupta et al. 2016
//                                                                           (Rudra)
//   bounded:s    one push                      c - min clock <= s           Ho et al. 2013 (SSP)
//   value:D      one push, as soon as no       always                       Wei et al. 2015 (VAP)
//                computing worker would miss
//                a change of D or more
//   reject:s     one push based on a version   always
//                at most s old
//   async        one push                      always
//
// Symbols: c clock, the pushes of a worker; version, the updates of the shard; P workers in the
// view. Backup and reject drop pushes that are too late. Each server decides for itself; the ledger
// records what the first one did.
// bounded:0 is synchronous: no worker reads before all have pushed, so their pushes are one update.
//
// A new consistency is a struct here or in a file of its own, and its name in the list. What it
// does not say is as in consistency::EachPush.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>

#include "base/choice.h"
#include "ps/clock_table.h"
#include "ps/each_push.h"

namespace shoal {

namespace consistency {

struct Synchronous : EachPush {
  static constexpr std::string_view kName = "synchronous";
  static constexpr std::string_view kHelp = "an update is one push of each worker";
  bool operator==(const Synchronous&) const = default;

  bool may_read(const ClockTable& table, std::uint64_t clock, std::uint64_t version,
                std::uint64_t pushes) const {
    if (version >= clock) return true;
    return pushes == 0 && !table.rows.empty() && min_clock(table) >= clock;
  }
  bool completes(const ClockTable& table, std::uint64_t pushes, std::uint64_t version) const {
    return pushes > 0 && (table.rows.empty() || min_clock(table) > version);
  }
  std::uint64_t pushes_per_update(std::uint64_t workers) const { return workers; }
  // The version is the workers' clock, also after an earlier checkpoint was loaded.
  std::uint64_t version_after(const ClockTable& table, std::uint64_t version) const {
    return table.rows.empty() ? version + 1 : std::max(version, min_clock(table));
  }
  bool moves_in_step() const { return true; }
  bool goes_by_steps() const { return true; }
  bool counts_clocks() const { return true; }
};

struct Backup : EachPush {
  static constexpr std::string_view kName = "backup";
  static constexpr std::string_view kHelp = "the pushes of the last workers of a step are dropped";
  std::uint64_t backups;
  static constexpr auto parameters() {
    return std::tuple{Parameter{"backups",
                                &Backup::backups,
                                "number of pushes that a step does not wait for",
                                {.least = 1},
                                Print::Required}};
  }
  constexpr explicit Backup(std::uint64_t B = 1) : backups(B) {}
  bool operator==(const Backup&) const = default;

  // The step for which it was computed has been made without it.
  Admission admits(const ClockTable& /*table*/, const ClockRow& /*row*/, std::uint64_t version,
                   std::uint64_t based_on, double /*change*/) const {
    return version > based_on ? Admission::Never : Admission::Now;
  }
  bool completes(const ClockTable& table, std::uint64_t pushes, std::uint64_t /*version*/) const {
    return pushes >= pushes_per_update(table.rows.size());
  }
  std::uint64_t pushes_per_update(std::uint64_t workers) const {
    return workers > backups ? workers - backups : 1;
  }
  bool goes_by_steps() const { return true; }
  bool counts_clocks() const { return true; }
  bool drops_late() const { return true; }
};

struct Softsync : EachPush {
  static constexpr std::string_view kName = "softsync";
  static constexpr std::string_view kHelp = "an update is any P/n pushes";
  std::uint64_t n;
  static constexpr auto parameters() {
    return std::tuple{
        Parameter{"n", &Softsync::n, "updates from P pushes", {.least = 1}, Print::Required}};
  }
  constexpr explicit Softsync(std::uint64_t updates = 2) : n(updates) {}
  bool operator==(const Softsync&) const = default;

  bool completes(const ClockTable& table, std::uint64_t pushes, std::uint64_t /*version*/) const {
    return pushes >= pushes_per_update(table.rows.size());
  }
  std::uint64_t pushes_per_update(std::uint64_t workers) const {
    return std::max<std::uint64_t>(1, workers / n);
  }
  bool counts_clocks() const { return true; }
  // A gradient is n updates late on average, and counts as much less.
  std::uint64_t rate_divisor() const { return n; }
};

struct Bounded : EachPush {
  static constexpr std::string_view kName = "bounded";
  static constexpr std::string_view kHelp = "no worker is more steps ahead of the slowest";
  std::uint64_t staleness;
  static constexpr auto parameters() {
    return std::tuple{Parameter{"staleness",
                                &Bounded::staleness,
                                "steps that a worker may be ahead of the slowest",
                                {},
                                Print::Required}};
  }
  constexpr explicit Bounded(std::uint64_t s = 3) : staleness(s) {}
  bool operator==(const Bounded&) const = default;

  bool may_read(const ClockTable& table, std::uint64_t clock, std::uint64_t version,
                std::uint64_t pushes) const {
    if (moves_in_step()) return Synchronous().may_read(table, clock, version, pushes);
    return table.rows.empty() || clock <= min_clock(table) + staleness;
  }
  bool completes(const ClockTable& table, std::uint64_t pushes, std::uint64_t version) const {
    return moves_in_step() ? Synchronous().completes(table, pushes, version) : pushes >= 1;
  }
  std::uint64_t pushes_per_update(std::uint64_t workers) const {
    return moves_in_step() ? workers : 1;
  }
  std::uint64_t version_after(const ClockTable& table, std::uint64_t version) const {
    return moves_in_step() ? Synchronous().version_after(table, version) : version + 1;
  }
  bool moves_in_step() const { return staleness == 0; }
  bool goes_by_steps() const { return moves_in_step(); }
  bool counts_clocks() const { return moves_in_step(); }
  std::optional<std::uint64_t> staleness_bound() const { return staleness; }
};

struct Value : EachPush {
  static constexpr std::string_view kName = "value";
  static constexpr std::string_view kHelp = "no worker misses a larger change of a parameter";
  double change;
  static constexpr auto parameters() {
    return std::tuple{Parameter{"change",
                                &Value::change,
                                "bound on the change of a parameter that a worker has not seen",
                                {.above_least = true},
                                Print::Required}};
  }
  constexpr explicit Value(double D = 0.1) : change(D) {}
  bool operator==(const Value&) const = default;

  // A single push may exceed the bound: then all others must have seen everything.
  Admission admits(const ClockTable& table, const ClockRow& row, std::uint64_t /*version*/,
                   std::uint64_t /*based_on*/, double by) const {
    double unseen = 0;
    for (const ClockRow& r : table.rows)
      if (r.worker != row.worker && !r.waits) unseen = std::max(unseen, r.unseen);
    return unseen <= 0 || unseen + by < change ? Admission::Now : Admission::Later;
  }
  bool limits_change() const { return true; }
};

struct Reject : EachPush {
  static constexpr std::string_view kName = "reject";
  static constexpr std::string_view kHelp = "pushes with too large a staleness are dropped";
  std::uint64_t staleness;
  static constexpr auto parameters() {
    return std::tuple{Parameter{"staleness",
                                &Reject::staleness,
                                "updates by which a push may be late",
                                {},
                                Print::Required}};
  }
  constexpr explicit Reject(std::uint64_t s = 4) : staleness(s) {}
  bool operator==(const Reject&) const = default;

  Admission admits(const ClockTable& /*table*/, const ClockRow& /*row*/, std::uint64_t version,
                   std::uint64_t based_on, double /*change*/) const {
    return version > based_on + staleness ? Admission::Never : Admission::Now;
  }
  bool drops_late() const { return true; }
};

struct Async : EachPush {
  static constexpr std::string_view kName = "async";
  static constexpr std::string_view kHelp = "no worker waits";
  bool operator==(const Async&) const = default;
};

}  // namespace consistency

using Consistency =
    std::variant<consistency::Synchronous, consistency::Bounded, consistency::Softsync,
                 consistency::Value, consistency::Reject, consistency::Backup, consistency::Async>;

// "bounded:3". For any other form, throws ConfigError with the allowed forms.
Consistency parse_consistency(std::string_view text);
std::string to_string(const Consistency& consistency);

// ---- The gates. `pushes` arrived since the last update.

// Whether a worker with this clock may read. Backup also waits for the worker's own push, which
// `pushes` does not contain.
bool may_read(const Consistency& consistency, const ClockTable& table, std::uint64_t clock,
              std::uint64_t version, std::uint64_t pushes);

// Whether a push by `row`'s worker, based on version `based_on`, is admitted, if it changes no
// parameter by more than `change`.
Admission admits(const Consistency& consistency, const ClockTable& table, const ClockRow& row,
                 std::uint64_t version, std::uint64_t based_on, double change);

// Whether the pushes since the last update form the next one.
bool completes(const Consistency& consistency, const ClockTable& table, std::uint64_t pushes,
               std::uint64_t version);

// The version that the next update makes.
std::uint64_t version_after(const Consistency& consistency, const ClockTable& table,
                            std::uint64_t version);

// If all workers are present and equally fast.
std::uint64_t pushes_per_update(const Consistency& consistency, std::uint64_t workers);

// ---- Work that servers and workers may omit.

// Whether an update is one push of each worker, so that version and clocks count the same.
bool moves_in_step(const Consistency& consistency);

// Whether updates are steps, of all workers or of the first of them: none is late, and a worker
// reads when its push is in the parameters, or will never be.
bool goes_by_steps(const Consistency& consistency);

// Whether clocks decide when an update is made, or which version it makes.
bool counts_clocks(const Consistency& consistency);

// Whether a push may be refused for good.
bool drops_late(const Consistency& consistency);

// Whether a push may have to wait because of the change that it makes.
bool limits_change(const Consistency& consistency);

// The steps that a worker may be ahead of the slowest, if the text form has them.
std::optional<std::uint64_t> staleness_bound(const Consistency& consistency);

// The learning rate is divided by it.
std::uint64_t rate_divisor(const Consistency& consistency);

}  // namespace shoal
