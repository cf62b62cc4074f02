// EachPush: the rule where a consistency (consistency.h) has none of its own. Each push is an
// update, and nobody waits.
#pragma once

#include <cstdint>
#include <optional>

#include "ps/clock_table.h"

namespace shoal {

enum class Admission : std::uint8_t { Now, Later, Never };

namespace consistency {

struct EachPush {
  bool operator==(const EachPush&) const = default;

  bool may_read(const ClockTable& /*table*/, std::uint64_t /*clock*/, std::uint64_t /*version*/,
                std::uint64_t /*pushes*/) const {
    return true;
  }
  Admission admits(const ClockTable& /*table*/, const ClockRow& /*row*/, std::uint64_t /*version*/,
                   std::uint64_t /*based_on*/, double /*change*/) const {
    return Admission::Now;
  }
  bool completes(const ClockTable& /*table*/, std::uint64_t pushes,
                 std::uint64_t /*version*/) const {
    return pushes >= 1;
  }
  std::uint64_t pushes_per_update(std::uint64_t /*workers*/) const { return 1; }
  std::uint64_t version_after(const ClockTable& /*table*/, std::uint64_t version) const {
    return version + 1;
  }
  bool moves_in_step() const { return false; }
  bool goes_by_steps() const { return false; }
  bool counts_clocks() const { return false; }
  bool drops_late() const { return false; }
  bool limits_change() const { return false; }
  std::optional<std::uint64_t> staleness_bound() const { return std::nullopt; }
  std::uint64_t rate_divisor() const { return 1; }
};

}  // namespace consistency
}  // namespace shoal
