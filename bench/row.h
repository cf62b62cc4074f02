// A row as every benchmark prints it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace shoal {

struct BenchRow {
  std::string name{};
  double ours = 0;
  std::string unit{};
  double target = 0;  // what the project asks for; 0: nothing
  bool higher_is_better = true;
  bool verified = false;  // the result of the run was checked
  std::string note{};
  std::map<std::string, double> peers{};  // the same, measured in between by others
  // Of collectives; 0: it is about something else.
  std::string op{};
  std::uint64_t bytes = 0;
  std::uint64_t procs = 0;

  // How many times better than the best peer; 0 without peers.
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
