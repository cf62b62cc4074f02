// What a comparison is to be, from its flags: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/command.h"

namespace shoal {

// "pytorch,easgd" as the names of the registry. Throws ConfigError: one that is not known (with the
// nearest), or named twice.
std::vector<std::string> parse_systems(const std::string& text);

// As on a command line: those of the options that were given.
std::vector<std::string> words_of(const std::vector<Option>& options,
                                  const std::vector<std::string>& given);

// A short run: how many steps took how long, and what it costs to begin at all.
struct Pilot {
  std::uint64_t steps = 0;
  double seconds = 0;
  double begin_s = 0;  // part of seconds
};
// From when each step of any worker had ended, in seconds of training, ascending: the first quarter
// warms up caches and processes, and counts as what it costs to begin.
Pilot steady(const Pilot& whole, std::span<const double> ends);
// Steps of a second one, live; 0: the first says enough. It does not if it was short, nor if some
// worker made no step in it: after a warm start others come, and the pace is another from then on.
std::uint64_t longer_pilot(const Pilot& first, double budget_s, bool all_stepped);
// From two of different lengths.
Pilot between(const Pilot& shorter, const Pilot& longer);
// How many steps a time is.
std::uint64_t steps_in(double seconds, const Pilot& pilot);

// Around the usual one, far enough apart to tell.
std::vector<double> eta_points(double usual);

}  // namespace shoal
