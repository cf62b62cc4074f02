// Consistency: when a worker may read the parameters of a shard, and what becomes of its update.
// Pure functions over a clock table, so that each can be read, tested and planted with bugs alone.
//
//   kind         an update is made of          a worker that has pushed c times may read when
//   synchronous  one push of every worker      version >= c, or all have pushed c times
//   backup:B     the first P - B pushes that   its push is in them, or    Chen et al. 2016
//                are based on the version now  came too late
//   softsync:n   floor(P/n) pushes, of anyone  always                     Gupta et al. 2016 (Rudra)
//   bounded:s    every push                    c - min clock <= s         Ho et al. 2013 (SSP)
//   value:D      every push, once the change   always                     Wei et al. 2015 (VAP)
//                that someone at work has not
//                seen stays below D with it
//   reject:s     every push that is based on   always
//                a version at most s old
//   async        every push                    always
//
// Symbols: c clock, pushes of a worker; version, updates of the shard; P workers of the view.
// A push that is backup's or reject's too late is dropped; of several servers each decides for
// itself, and the ledger has what the first one did.
// bounded:0 is synchronous: nobody reads before all have pushed, so their pushes are one update.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "runtime/view.h"

namespace shoal {

struct Consistency {
  enum class Kind : std::uint8_t { Synchronous, Softsync, Bounded, Value, Reject, Async, Backup };

  Kind kind = Kind::Async;
  std::uint64_t bound = 0;  // n of softsync; s of bounded and reject; B of backup
  double change = 0;        // D of value

  bool operator==(const Consistency&) const = default;
};

// "bounded:3". ConfigError, with what is allowed, for anything else than the forms above.
Consistency parse_consistency(std::string_view text);
std::string to_string(const Consistency& consistency);

// What a shard knows of one worker.
struct ClockRow {
  NodeId worker;
  Incarnation life;
  std::uint64_t clock = 0;    // pushes of it that came here
  std::uint64_t version = 0;  // that it has read last
  double unseen = 0;          // sup-norm, at most, of what has changed since
  bool waits = false;         // here: it will see all of it before it computes again
  bool away = false;          // it has no samples to compute with, and nobody waits for it

  auto operator<=>(const ClockRow&) const = default;
};

struct ClockTable {
  std::vector<ClockRow> rows;  // by worker

  bool operator==(const ClockTable& other) const { return rows == other.rows; }
  ClockRow* find(NodeId worker, Incarnation life);
  void clear();
  // The least clock of those that are present in the view; none of nobody. Clocks only grow, but by
  // enter(), so that it begins to look where it was found last: over P pushes or newcomers that
  // costs 2 P rows.
  std::optional<std::uint64_t> least(const View& view) const;
  // Of a worker that is new here, or in a new life, or was away.
  ClockRow& enter(NodeId worker, Incarnation life, std::uint64_t clock);

  // What least() has found: in this view no row has less, as long as one has this clock.
  struct Found {
    Generation view;
    std::size_t row = 0;
    std::uint64_t clock = 0;
  };
  mutable std::optional<Found> found{};
};

// Who is away or not in the view does not count: a pure function of (table, view).
ClockTable present(ClockTable table, const View& view);

// REQUIRES: there is a row.
std::uint64_t min_clock(const ClockTable& table);

// Whether an update is one push of every worker, so that version and clocks count the same.
bool moves_in_step(const Consistency& consistency);

// Whether clocks decide when an update is made, or what version it comes to.
bool counts_clocks(const Consistency& consistency);

// Whether updates are steps, of all workers or of the first of them: none is late, and a worker
// reads when its push is in the parameters, or will never be.
bool goes_by_steps(const Consistency& consistency);

// `pushes` have come since the last update. Of backup the worker's own are none of them.
bool may_read(const Consistency& consistency, const ClockTable& table, std::uint64_t clock,
              std::uint64_t version, std::uint64_t pushes);

enum class Admission : std::uint8_t { Now, Later, Never };
// Of a push by `row`'s worker, based on `based_on`, that changes parameters by `change` at most.
Admission admits(const Consistency& consistency, const ClockTable& table, const ClockRow& row,
                 std::uint64_t version, std::uint64_t based_on, double change);

// Whether the pushes that came since the last update are the next one.
bool completes(const Consistency& consistency, const ClockTable& table, std::uint64_t pushes,
               std::uint64_t version);

// When nobody is missing, and all are equally fast.
std::uint64_t pushes_per_update(const Consistency& consistency, std::uint64_t workers);

// Of a shard that moves in step the version is the workers' clock, also after it was loaded as it
// was saved earlier; else updates are counted.
std::uint64_t version_after(const Consistency& consistency, const ClockTable& table,
                            std::uint64_t version);

}  // namespace shoal
