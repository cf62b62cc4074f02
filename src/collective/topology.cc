#include "collective/topology.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <numeric>
#include <set>

#include "base/error.h"
#include "base/nearest.h"
#include "base/permutation.h"
#include "base/random.h"

namespace shoal {
namespace {

using Edges = std::vector<std::set<std::uint64_t>>;

constexpr std::array<std::string_view, 10> kNames = {
    "chain",  "ring",    "torus",       "tree",      "complete",
    "halton", "regular", "exponential", "hypercube", "random"};

void join(Edges& edges, std::uint64_t a, std::uint64_t b) {
  if (a == b) return;
  edges[a].insert(b);
  edges[b].insert(a);
}

std::uint64_t rows_of_grid(std::uint64_t P) {
  auto rows = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(P)));
  while (P % rows != 0) --rows;
  return rows;
}

void torus(Edges& edges, std::uint64_t P) {
  const std::uint64_t rows = rows_of_grid(P);
  const std::uint64_t columns = P / rows;
  for (std::uint64_t r = 0; r < P; ++r) {
    const std::uint64_t row = r / columns;
    const std::uint64_t column = r % columns;
    join(edges, r, row * columns + (column + 1) % columns);
    join(edges, r, (row + 1) % rows * columns + column);
  }
}

// The k-th number of the van der Corput sequence: the digits of k in base 2, mirrored at the point.
double halton(std::uint64_t k) {
  double value = 0;
  double digit = 0.5;
  for (; k > 0; k >>= 1U, digit /= 2)
    if (k % 2 == 1) value += digit;
  return value;
}

// The step of 1 first: with it alone the graph is strongly connected.
void malt(Edges& edges, std::uint64_t P) {
  const auto degree = static_cast<std::size_t>(std::bit_width(P - 1));
  std::vector<std::uint64_t> distances;
  if (P > 1) distances.push_back(1);
  for (std::uint64_t k = 1; distances.size() < degree; ++k) {
    const auto d = static_cast<std::uint64_t>(halton(k) * static_cast<double>(P));
    if (d > 0 && std::ranges::find(distances, d) == distances.end()) distances.push_back(d);
  }
  for (std::uint64_t r = 0; r < P; ++r)
    for (const std::uint64_t d : distances) edges[r].insert((r + d) % P);
}

std::vector<std::uint64_t> shuffled(std::uint64_t P, Random& random) {
  std::vector<std::uint64_t> order(P);
  std::iota(order.begin(), order.end(), 0);
  shuffle(std::span(order), random);
  return order;
}

void cycle_or_matching(Edges& edges, std::uint64_t degree, Random& random) {
  const std::vector<std::uint64_t> order = shuffled(edges.size(), random);
  const std::size_t stride = degree % 2 == 1 ? 2 : 1;
  for (std::size_t i = 0; i < order.size(); i += stride)
    join(edges, order[i], order[(i + 1) % order.size()]);
}

bool has_degree(const Edges& edges, std::uint64_t degree) {
  return std::ranges::all_of(edges, [&](const auto& e) { return e.size() == degree; });
}

// Most draws have an edge twice somewhere and are drawn again; a circulant graph, of some
// permutation, is the last resort where a degree is close to P.
Edges regular(std::uint64_t P, std::uint64_t degree, Seed seed) {
  Random random(seed, Purpose::Topology, P, degree);
  constexpr int kDraws = 200;
  for (int draw = 0; draw < kDraws; ++draw) {
    Edges edges(P);
    for (std::uint64_t d = degree; d > 0; d -= std::min<std::uint64_t>(d, d % 2 == 1 ? 1 : 2))
      cycle_or_matching(edges, d, random);
    if (has_degree(edges, degree)) return edges;
  }
  Edges edges(P);
  const std::vector<std::uint64_t> name = shuffled(P, random);
  for (std::uint64_t r = 0; r < P; ++r) {
    for (std::uint64_t k = 1; k <= degree / 2; ++k) join(edges, name[r], name[(r + k) % P]);
    if (degree % 2 == 1) join(edges, name[r], name[(r + P / 2) % P]);
  }
  return edges;
}

void one_of_hypercube(Edges& edges, std::uint64_t P, std::uint64_t step) {
  const auto dimensions = static_cast<std::uint64_t>(std::bit_width(P - 1));
  if (dimensions == 0) return;
  const std::uint64_t bit = std::uint64_t{1} << step % dimensions;
  for (std::uint64_t r = 0; r < P; ++r)
    if ((r ^ bit) < P) join(edges, r, r ^ bit);
}

void one_at_random(Edges& edges, std::uint64_t P, Seed seed, std::uint64_t step) {
  Random random(seed, Purpose::Topology, P, step);
  for (std::uint64_t r = 0; r < P && P > 1; ++r) {
    const std::uint64_t other = random.below(P - 1);
    edges[r].insert(other < r ? other : other + 1);
  }
}

Edges edges_of(const Topology& topology, std::uint64_t P, Seed seed, std::uint64_t step) {
  Edges edges(P);
  switch (topology.kind) {
    case Topology::Kind::Chain:
      for (std::uint64_t r = 1; r < P; ++r) join(edges, r - 1, r);
      break;
    case Topology::Kind::Ring:
      for (std::uint64_t r = 0; r < P; ++r) join(edges, r, (r + 1) % P);
      break;
    case Topology::Kind::Torus: torus(edges, P); break;
    case Topology::Kind::Tree:
      for (std::uint64_t r = 1; r < P; ++r) join(edges, r, (r - 1) / 2);
      break;
    case Topology::Kind::Complete:
      for (std::uint64_t r = 0; r < P; ++r)
        for (std::uint64_t q = 0; q < r; ++q) join(edges, r, q);
      break;
    case Topology::Kind::Halton: malt(edges, P); break;
    case Topology::Kind::Regular: return regular(P, topology.degree, seed);
    case Topology::Kind::Exponential:
      for (std::uint64_t r = 0; r < P; ++r)
        for (std::uint64_t d = 1; d < P; d *= 2) edges[r].insert((r + d) % P);
      break;
    case Topology::Kind::Hypercube: one_of_hypercube(edges, P, step); break;
    case Topology::Kind::Random: one_at_random(edges, P, seed, step); break;
  }
  return edges;
}

std::vector<bool> reached(const Graph& graph) {
  std::vector<bool> seen(graph.size(), false);
  std::vector<std::size_t> open;
  if (!graph.empty()) {
    open.push_back(0);
    seen[0] = true;
  }
  while (!open.empty()) {
    const std::size_t r = open.back();
    open.pop_back();
    for (const Rank q : graph[r])
      if (!seen[q.value()]) {
        seen[q.value()] = true;
        open.push_back(q.value());
      }
  }
  return seen;
}

}  // namespace

Topology parse_topology(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const auto* const found = std::ranges::find(kNames, name);
  if (found == kNames.end()) {
    const std::vector<std::string> names = topology_names();
    throw ConfigError(fmt::format("topology '{}' is not known; {}", text, suggest(name, names)));
  }
  Topology topology{static_cast<Topology::Kind>(found - kNames.begin())};
  const bool wants = topology.kind == Topology::Kind::Regular;
  if (wants != (colon != std::string_view::npos))
    throw ConfigError(fmt::format(
        "topology '{}': {}", text,
        wants ? "regular needs its degree: regular:3" : "only regular takes a number: regular:3"));
  if (!wants) return topology;
  const std::string_view number = text.substr(colon + 1);
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), topology.degree);
  if (error != std::errc() || end != number.data() + number.size() || topology.degree < 2)
    throw ConfigError(
        fmt::format("topology '{}': a degree is a whole number from 2 on: regular:3", text));
  return topology;
}

std::string to_string(const Topology& topology) {
  const std::string_view name = kNames[static_cast<std::size_t>(topology.kind)];
  if (topology.kind != Topology::Kind::Regular) return std::string(name);
  return fmt::format("{}:{}", name, topology.degree);
}

std::vector<std::string> topology_names() { return {kNames.begin(), kNames.end()}; }

void require_possible(const Topology& topology, std::uint64_t members) {
  if (topology.kind != Topology::Kind::Regular) return;
  if (topology.degree >= members)
    throw ConfigError(
        fmt::format("--topology {} with {} workers: each has {} others at most; take --topology "
                    "complete, or a degree below {}",
                    to_string(topology), members, members - 1, members));
  if (topology.degree % 2 == 1 && members % 2 == 1)
    throw ConfigError(
        fmt::format("--topology {} with {} workers: an odd number of workers cannot have an odd "
                    "degree each; take --topology regular:{}",
                    to_string(topology), members, topology.degree - 1));
}

Graph graph_of(const Topology& topology, std::uint64_t members, Seed seed, std::uint64_t step) {
  Graph graph;
  for (const std::set<std::uint64_t>& to : edges_of(topology, members, seed, step)) {
    std::vector<Rank>& ranks = graph.emplace_back();
    for (const std::uint64_t r : to) ranks.emplace_back(static_cast<std::uint32_t>(r));
  }
  return graph;
}

bool is_symmetric(const Graph& graph) {
  for (std::uint32_t r = 0; r < graph.size(); ++r)
    for (const Rank q : graph[r])
      if (!std::ranges::binary_search(graph[q.value()], Rank(r))) return false;
  return true;
}

bool is_strongly_connected(const Graph& graph) {
  Graph back(graph.size());
  for (std::uint32_t r = 0; r < graph.size(); ++r)
    for (const Rank q : graph[r]) back[q.value()].emplace_back(r);
  const auto all = [](const std::vector<bool>& seen) {
    return std::ranges::all_of(seen, [](bool s) { return s; });
  };
  return all(reached(graph)) && all(reached(back));
}

std::vector<bool> two_colours(const Graph& graph) {
  std::vector<int> colour(graph.size(), -1);
  for (std::size_t first = 0; first < graph.size(); ++first) {
    if (colour[first] >= 0) continue;
    colour[first] = 0;
    std::vector<std::size_t> open{first};
    while (!open.empty()) {
      const std::size_t r = open.back();
      open.pop_back();
      for (const Rank q : graph[r]) {
        if (colour[q.value()] == colour[r]) return {};
        if (colour[q.value()] >= 0) continue;
        colour[q.value()] = 1 - colour[r];
        open.push_back(q.value());
      }
    }
  }
  std::vector<bool> colours;
  for (const int c : colour) colours.push_back(c == 1);
  return colours;
}

Mixing metropolis(const Graph& graph) {
  SHOAL_CHECK(is_symmetric(graph));
  const std::size_t P = graph.size();
  Mixing mixing(P, std::vector<double>(P, 0));
  for (std::size_t r = 0; r < P; ++r) {
    double own = 1;
    for (const Rank q : graph[r]) {
      const std::size_t degree = std::max(graph[r].size(), graph[q.value()].size());
      mixing[r][q.value()] = 1 / (1 + static_cast<double>(degree));
      own -= mixing[r][q.value()];
    }
    mixing[r][r] = own;
  }
  return mixing;
}

bool is_doubly_stochastic(const Mixing& mixing, double tolerance) {
  for (std::size_t r = 0; r < mixing.size(); ++r) {
    double row = 0;
    double column = 0;
    for (std::size_t q = 0; q < mixing.size(); ++q) {
      if (mixing[r][q] < -tolerance) return false;
      row += mixing[r][q];
      column += mixing[q][r];
    }
    if (std::abs(row - 1) > tolerance || std::abs(column - 1) > tolerance) return false;
  }
  return true;
}

}  // namespace shoal
