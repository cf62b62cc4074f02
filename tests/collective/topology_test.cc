#include "collective/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace shoal {
namespace {

TEST(TopologyTest, NamesAreReadAsTheyAreWritten) {
  for (const char* const name : {"chain", "ring", "torus", "tree", "complete", "halton",
                                 "regular:3", "exponential", "hypercube", "random"})
    EXPECT_EQ(to_string(parse_topology(name)), name);
}

TEST(TopologyTest, WhatIsNoneIsRefused) {
  EXPECT_THROW(parse_topology("rign"), ConfigError);
  EXPECT_THROW(parse_topology("regular"), ConfigError);
  EXPECT_THROW(parse_topology("regular:1"), ConfigError);
  EXPECT_THROW(parse_topology("regular:x"), ConfigError);
  EXPECT_THROW(parse_topology("ring:3"), ConfigError);
  EXPECT_THROW(require_possible(parse_topology("regular:4"), 4), ConfigError);
  EXPECT_THROW(require_possible(parse_topology("regular:3"), 5), ConfigError);
  EXPECT_NO_THROW(require_possible(parse_topology("regular:3"), 6));
}

TEST(TopologyTest, SymmetricOnesHaveSymmetricGraphs) {
  for_each_alternative<Topology>([](const auto& topology) {
    for (std::uint64_t t = 0; t < 3; ++t)
      EXPECT_EQ(is_symmetric(graph_of(topology, 14, Seed(1), t)), is_symmetric(Topology(topology)))
          << topology.kName;
  });
}

TEST(TopologyTest, FixedOnesAreConnectedAndMixDoublyStochastically) {
  for (const char* const name : {"chain", "ring", "torus", "tree", "complete"})
    for (std::uint64_t P = 1; P <= 17; ++P) {
      const Graph graph = graph_of(parse_topology(name), P);
      EXPECT_TRUE(is_symmetric(graph)) << name << P;
      EXPECT_TRUE(is_strongly_connected(graph)) << name << P;
      EXPECT_TRUE(is_doubly_stochastic(metropolis(graph))) << name << P;
    }
}

TEST(TopologyTest, RegularOnesAreOfTheirDegree) {
  for (std::uint32_t degree = 2; degree <= 5; ++degree)
    for (std::uint64_t P = degree + 1; P <= 20; ++P) {
      if (degree % 2 == 1 && P % 2 == 1) continue;
      const Graph graph = graph_of(topology::Regular(degree), P, Seed(7));
      EXPECT_TRUE(is_symmetric(graph));
      EXPECT_TRUE(is_doubly_stochastic(metropolis(graph)));
      for (const auto& to : graph) EXPECT_EQ(to.size(), degree) << P;
    }
}

TEST(TopologyTest, HaltonsOutDegreeIsLog2AndAllAreReached) {
  for (std::uint64_t P = 2; P <= 33; ++P) {
    const Graph graph = graph_of(topology::Halton{}, P);
    EXPECT_TRUE(is_strongly_connected(graph)) << P;
    for (const auto& to : graph) EXPECT_EQ(to.size(), std::bit_width(P - 1)) << P;
  }
}

TEST(TopologyTest, HypercubePartnersAreEachOthersAndChangeEveryStep) {
  for (std::uint64_t P = 1; P <= 16; ++P)
    for (std::uint64_t t = 0; t < 8; ++t) {
      const Graph graph = graph_of(topology::Hypercube{}, P, Seed(0), t);
      EXPECT_TRUE(is_symmetric(graph));
      for (const auto& to : graph) EXPECT_LE(to.size(), 1U);
    }
  EXPECT_NE(graph_of(topology::Hypercube{}, 8, Seed(0), 0),
            graph_of(topology::Hypercube{}, 8, Seed(0), 1));
}

TEST(TopologyTest, RandomPeersAreNeverOneself) {
  for (std::uint64_t t = 0; t < 50; ++t) {
    const Graph graph = graph_of(topology::Random{}, 5, Seed(3), t);
    for (std::uint32_t r = 0; r < 5; ++r)
      EXPECT_THAT(graph[r], testing::Not(testing::Contains(Rank(r))));
  }
}

TEST(TopologyTest, ARingOfThirdsContractsAsItsEigenvalueSays) {
  for (const std::size_t n : {4, 5, 8, 16}) {
    const Mixing W = metropolis(graph_of(topology::Ring{}, n));
    // The second largest eigenvalue, of the slowest wave around the ring.
    std::vector<double> x(n);
    for (std::size_t r = 0; r < n; ++r)
      x[r] = std::cos(2 * std::numbers::pi * static_cast<double>(r) / static_cast<double>(n));
    std::vector<double> y(n, 0);
    double before = 0;
    double after = 0;
    for (std::size_t r = 0; r < n; ++r) {
      for (std::size_t q = 0; q < n; ++q) y[r] += W[r][q] * x[q];
      before += x[r] * x[r];
      after += y[r] * y[r];
    }
    const double factor = (1 + 2 * std::cos(2 * std::numbers::pi / static_cast<double>(n))) / 3;
    EXPECT_NEAR(std::sqrt(after / before), factor, 1e-12) << n;
  }
}

TEST(TopologyTest, OnlyGraphsWithoutOddCyclesHaveTwoColours) {
  EXPECT_FALSE(two_colours(graph_of(topology::Ring{}, 6)).empty());
  EXPECT_TRUE(two_colours(graph_of(topology::Ring{}, 5)).empty());
  EXPECT_FALSE(two_colours(graph_of(topology::Tree{}, 9)).empty());
}

}  // namespace
}  // namespace shoal
