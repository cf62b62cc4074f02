// Plans a comparison from its flags: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/command.h"

namespace shoal {

// Parses "pytorch,easgd". Throws ConfigError for an unknown system (and names the nearest) or a
// repeated one.
std::vector<std::string> parse_systems(const std::string& text);

// The options that were given, as on a command line.
std::vector<std::string> words_of(const std::vector<Option>& options,
                                  const std::vector<std::string>& given);

// A short run: the time of its steps, and the cost of the start.
struct Pilot {
  std::uint64_t steps = 0;
  double seconds = 0;
  double begin_s = 0;  // included in `seconds`
};
// From the ends of all steps of any worker, in seconds of training, ascending. The first quarter
// warms up caches and processes, and counts as the cost of the start.
Pilot steady(const Pilot& whole, std::span<const double> ends);
// Steps of a second pilot, live; 0: the first one suffices. It does not if it was short, or if a
// worker made no step in it: after a warm start more workers come, and the rate changes.
std::uint64_t longer_pilot(const Pilot& first, double budget_s, bool all_stepped);
// From two pilots of different lengths.
Pilot between(const Pilot& shorter, const Pilot& longer);
// The number of steps in a time.
std::uint64_t steps_in(double seconds, const Pilot& pilot);

// Three learning rates around the usual one, far enough apart to differ.
std::vector<double> eta_points(double usual);

}  // namespace shoal
