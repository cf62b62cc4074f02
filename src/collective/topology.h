// Topology: which members exchange models. The graph of a topology is a pure function of the number
// of members, and of the step where it changes from step to step. When a member is lost or joins,
// another graph of the same kind is made.
//
//   chain        r and r + 1
//   ring         r and r + 1 mod P
//   torus        the four beside r in a grid as near to a square as P allows
//   tree         r and its parent (r - 1) / 2
//   complete     all pairs
//   halton       directed: r and r + P h_k for the first ceil(log2 P) numbers h_k of the Halton
//                sequence of base 2. Li et al., "MALT", EuroSys 2015
//   regular:D    the union of random cycles and, for odd D, a random matching
//   exponential  directed: r and r + 2^k mod P, for all 2^k < P
//   hypercube    one partner a step: r xor 2^(t mod log2 P), if there is such a member. Zhao &
//                Canny, "Butterfly Mixing", SDM 2013
//   random       directed: one random peer for each, drawn in each step
//
// A new topology is a struct, here or in a file of its own, and its name in the list.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "base/choice.h"
#include "base/random.h"  // has a Purpose::Topology, which would shadow the alias below
#include "base/types.h"

namespace shoal {
namespace topology {

// The members to which each member sends.
using Edges = std::vector<std::set<std::uint64_t>>;

struct Undirected {
  static constexpr bool kSymmetric = true;
  bool operator==(const Undirected&) const = default;
  void require_possible(std::uint64_t /*members*/) const {}
};
struct Directed {
  static constexpr bool kSymmetric = false;
  bool operator==(const Directed&) const = default;
  void require_possible(std::uint64_t /*members*/) const {}
};

struct Ring : Undirected {
  static constexpr std::string_view kName = "ring";
  static constexpr std::string_view kHelp = "each member and the next one";
  bool operator==(const Ring&) const = default;
  Edges edges(std::uint64_t P, Seed seed, std::uint64_t step) const;
};

struct Chain : Undirected {
  static constexpr std::string_view kName = "chain";
  static constexpr std::string_view kHelp = "as ring, but the ends do not meet";
  bool operator==(const Chain&) const = default;
  Edges edges(std::uint64_t P, Seed seed, std::uint64_t step) const;
};

struct Torus : Undirected {
  static constexpr std::string_view kName = "torus";
  static constexpr std::string_view kHelp = "the four neighbours in a grid";
  bool operator==(const Torus&) const = default;
  Edges edges(std::uint64_t P, Seed seed, std::uint64_t step) const;
};

struct Tree : Undirected {
  static constexpr std::string_view kName = "tree";
  static constexpr std::string_view kHelp = "each member and its parent";
  bool operator==(const Tree&) const = default;
  Edges edges(std::uint64_t P, Seed seed, std::uint64_t step) const;
};

struct Complete : Undirected {
  static constexpr std::string_view kName = "complete";
  static constexpr std::string_view kHelp = "each member and all others";
  bool operator==(const Complete&) const = default;
  Edges edges(std::uint64_t P, Seed seed, std::uint64_t step) const;
};

struct Halton : Directed {
  static constexpr std::string_view kName = "halton";
  static constexpr std::string_view kHelp =
      "about log2 P successors, at distances of the Halton sequence";
  bool operator==(const Halton&) const = default;
  Edges edges(std::uint64_t P, Seed seed, std::uint64_t step) const;
};

struct Regular : Undirected {
  static constexpr std::string_view kName = "regular";
  static constexpr std::string_view kHelp = "a random graph in which each member has D peers";
  std::uint32_t degree;
  static constexpr auto parameters() {
    return std::tuple{Parameter{
        "degree", &Regular::degree, "peers of each member", {.least = 2}, Print::Required}};
  }
  constexpr explicit Regular(std::uint32_t D = 3) : degree(D) {}
  bool operator==(const Regular&) const = default;
  void require_possible(std::uint64_t members) const;
  Edges edges(std::uint64_t P, Seed seed, std::uint64_t step) const;
};

struct Exponential : Directed {
  static constexpr std::string_view kName = "exponential";
  static constexpr std::string_view kHelp = "the successors at distances 1, 2, 4...";
  bool operator==(const Exponential&) const = default;
  Edges edges(std::uint64_t P, Seed seed, std::uint64_t step) const;
};

struct Hypercube : Undirected {
  static constexpr std::string_view kName = "hypercube";
  static constexpr std::string_view kHelp = "one partner in each step, another one in the next";
  bool operator==(const Hypercube&) const = default;
  Edges edges(std::uint64_t P, Seed seed, std::uint64_t step) const;
};

struct Random : Directed {
  static constexpr std::string_view kName = "random";
  static constexpr std::string_view kHelp = "one random peer of each member, drawn in each step";
  bool operator==(const Random&) const = default;
  Edges edges(std::uint64_t P, Seed seed, std::uint64_t step) const;
};

}  // namespace topology

using Topology = std::variant<topology::Ring, topology::Chain, topology::Torus, topology::Tree,
                              topology::Complete, topology::Halton, topology::Regular,
                              topology::Exponential, topology::Hypercube, topology::Random>;

// "ring", "regular:3"; anything else is a ConfigError with what is allowed.
Topology parse_topology(std::string_view text);
std::string to_string(const Topology& topology);
// Whether of two members each sends to the other, or neither.
bool is_symmetric(const Topology& topology);
// Throws ConfigError if so many members cannot form it, with the reason and with what they can.
void require_possible(const Topology& topology, std::uint64_t members);

// The ranks to which each member sends, ascending, each once and never its own.
using Graph = std::vector<std::vector<Rank>>;
// REQUIRES: it is possible.
Graph graph_of(const Topology& topology, std::uint64_t members, Seed seed = Seed(0),
               std::uint64_t step = 0);

bool is_symmetric(const Graph& graph);
bool is_strongly_connected(const Graph& graph);
// The colour of each member such that edges join different colours; empty if there are none.
std::vector<bool> two_colours(const Graph& graph);

// The mixing weights of Metropolis: w_ij = 1 / (1 + max(deg i, deg j)) along an edge, and w_ii the
// rest. Xiao & Boyd, "Fast linear iterations for distributed averaging",
// Systems & Control Letters 2004. REQUIRES: symmetric.
using Mixing = std::vector<std::vector<double>>;
Mixing metropolis(const Graph& graph);
bool is_doubly_stochastic(const Mixing& mixing, double tolerance = 1e-12);

}  // namespace shoal
