// A row of a benchmark's result.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace shoal {

struct BenchRow {
  std::string name{};
  double ours = 0;
  std::string unit{};
  double target = 0;  // the project's own; 0: none
  bool higher_is_better = true;
  bool verified = false;  // whether the result of the run was checked, and right
  std::string note{};
  std::map<std::string, double> peers{};  // the same quantity for others, measured in turn
  // For collectives only.
  std::string op{};
  std::uint64_t bytes = 0;
  std::uint64_t procs = 0;

  // The ratio to the best peer, above 1 if better; 0 without peers.
  double ratio() const {
    double best = 0;
    for (const auto& [peer, value] : peers) {
      const double times = higher_is_better ? ours / value : value / ours;
      if (best == 0 || times < best) best = times;
    }
    return best;
  }
};

}  // namespace shoal
