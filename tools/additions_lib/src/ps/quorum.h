// Quorum: an update is the pushes of so many workers, whichever come first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <tuple>

#include "base/choice.h"
#include "ps/each_push.h"

namespace shoal::consistency {

struct Quorum : EachPush {
  static constexpr std::string_view kName = "quorum";
  static constexpr std::string_view kHelp = "an update is so many pushes, of any workers";
  std::uint64_t pushes;
  static constexpr auto parameters() {
    return std::tuple{Parameter{
        "pushes", &Quorum::pushes, "that an update consists of", {.least = 1}, Print::Required}};
  }
  constexpr explicit Quorum(std::uint64_t n = 2) : pushes(n) {}
  bool operator==(const Quorum&) const = default;

  bool completes(const ClockTable& table, std::uint64_t came, std::uint64_t /*version*/) const {
    return came >= pushes_per_update(table.rows.size());
  }
  std::uint64_t pushes_per_update(std::uint64_t workers) const {
    return std::clamp<std::uint64_t>(pushes, 1, std::max<std::uint64_t>(workers, 1));
  }
  bool counts_clocks() const { return true; }
};

}  // namespace shoal::consistency
