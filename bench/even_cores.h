// What a machine leaves to those who wait for each other. Cores that are shared (threads of one
// core, other guests of the same host) run faster and slower from moment to moment: who never waits
// has the mean of it, who waits in every step has the slowest of each.
#pragma once

#include <vector>

namespace shoal {

// How long each took for each of its pieces, side by side.
using Pieces = std::vector<std::vector<double>>;

// Of the rate of all, what would be left if each began its next piece when all have ended theirs.
double kept_if_met(const Pieces& pieces);

// Of so many threads that compute in registers alone, so that neither memory nor caches nor any of
// our code is in it. A piece is what takes a thread `piece_s` seconds at its best.
Pieces pieces_of_arithmetic(int threads, double piece_s);

}  // namespace shoal
