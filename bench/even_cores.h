// The rate that a machine allows workers that wait for each other. The speed of shared cores
// (threads of one core, other guests of the same host) changes from moment to moment: independent
// workers run at the mean speed, workers that wait in every step at the slowest of each step.
#pragma once

#include <vector>

namespace shoal {

// The time of each piece of work, for each of several concurrent threads.
using Pieces = std::vector<std::vector<double>>;

// The rate, relative to the measured one, if each thread began a piece only when all had ended
// theirs.
double kept_if_met(const Pieces& pieces);

// Runs threads that compute in registers alone, so that neither memory nor caches matter. At best a
// piece takes `piece_s` seconds.
Pieces pieces_of_arithmetic(int threads, double piece_s);

}  // namespace shoal
