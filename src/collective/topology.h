// Topology: who meets whom, as a value; the graph of a topology is a pure function of the number of
// members, and of the step where it changes from step to step. A lost or new member makes another
// graph of the same kind.
//
//   chain        r and r + 1
//   ring         r and r + 1 around
//   torus        the four beside r in a grid as near to a square as P allows
//   tree         r and its parent (r - 1) / 2
//   complete     all and all
//   halton       directed: r and r + P h_k for the first ceil(log2 P) numbers h_k of the Halton
//                sequence of base 2. Li et al., "MALT", EuroSys 2015
//   regular:D    the union of random cycles and, for odd D, a random matching
//   exponential  directed: r and r + 2^k around, for all 2^k < P
//   hypercube    one partner a step: r xor 2^(t mod log2 P); who has none meets nobody. Zhao &
//                Canny, "Butterfly Mixing", SDM 2013
//   random       one random peer for each, anew in each step
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"

namespace shoal {

struct Topology {
  enum class Kind : std::uint8_t {
    Chain,
    Ring,
    Torus,
    Tree,
    Complete,
    Halton,
    Regular,
    Exponential,
    Hypercube,
    Random
  };
  Kind kind = Kind::Ring;
  std::uint32_t degree = 0;  // of Regular

  bool operator==(const Topology&) const = default;
};

// "ring", "regular:3"; anything else is a ConfigError with what is allowed.
Topology parse_topology(std::string_view text);
std::string to_string(const Topology& topology);
std::vector<std::string> topology_names();
// ConfigError where so many members cannot form it: why, and what they can.
void require_possible(const Topology& topology, std::uint64_t members);

// Whom each member sends to, by rank, each once and never itself; ascending.
using Graph = std::vector<std::vector<Rank>>;
// REQUIRES: it is possible.
Graph graph_of(const Topology& topology, std::uint64_t members, Seed seed = Seed(0),
               std::uint64_t step = 0);

bool is_symmetric(const Graph& graph);
bool is_strongly_connected(const Graph& graph);
// Two colours such that no edge joins members of the same one: the colour of each. Empty: none.
std::vector<bool> two_colours(const Graph& graph);

// How much each member takes of each, by Metropolis: w_ij = 1 / (1 + max(deg i, deg j)) along an
// edge, the rest for oneself. Xiao & Boyd, "Fast linear iterations for distributed averaging",
// Systems & Control Letters 2004. REQUIRES: symmetric.
using Mixing = std::vector<std::vector<double>>;
Mixing metropolis(const Graph& graph);
bool is_doubly_stochastic(const Mixing& mixing, double tolerance = 1e-12);

}  // namespace shoal
