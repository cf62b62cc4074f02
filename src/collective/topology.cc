#include "collective/topology.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <span>

#include "base/error.h"
#include "base/permutation.h"

namespace shoal {
namespace topology {
namespace {

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

// The k-th number of the van der Corput sequence: the digits of k in base 2, mirrored at the point.
double halton(std::uint64_t k) {
  double value = 0;
  double digit = 0.5;
  for (; k > 0; k >>= 1U, digit /= 2)
    if (k % 2 == 1) value += digit;
  return value;
}

std::vector<std::uint64_t> shuffled(std::uint64_t P, shoal::Random& random) {
  std::vector<std::uint64_t> order(P);
  std::iota(order.begin(), order.end(), 0);
  shuffle(std::span(order), random);
  return order;
}

void cycle_or_matching(Edges& edges, std::uint64_t degree, shoal::Random& random) {
  const std::vector<std::uint64_t> order = shuffled(edges.size(), random);
  const std::size_t stride = degree % 2 == 1 ? 2 : 1;
  for (std::size_t i = 0; i < order.size(); i += stride)
    join(edges, order[i], order[(i + 1) % order.size()]);
}

bool has_degree(const Edges& edges, std::uint64_t degree) {
  return std::ranges::all_of(edges, [&](const auto& e) { return e.size() == degree; });
}

}  // namespace

Edges Ring::edges(std::uint64_t P, Seed /*seed*/, std::uint64_t /*step*/) const {
  Edges edges(P);
  for (std::uint64_t r = 0; r < P; ++r) join(edges, r, (r + 1) % P);
  return edges;
}

Edges Chain::edges(std::uint64_t P, Seed /*seed*/, std::uint64_t /*step*/) const {
  Edges edges(P);
  for (std::uint64_t r = 1; r < P; ++r) join(edges, r - 1, r);
  return edges;
}

Edges Torus::edges(std::uint64_t P, Seed /*seed*/, std::uint64_t /*step*/) const {
  Edges edges(P);
  const std::uint64_t rows = rows_of_grid(P);
  const std::uint64_t columns = P / rows;
  for (std::uint64_t r = 0; r < P; ++r) {
    const std::uint64_t row = r / columns;
    const std::uint64_t column = r % columns;
    join(edges, r, row * columns + (column + 1) % columns);
    join(edges, r, (row + 1) % rows * columns + column);
  }
  return edges;
}

Edges Tree::edges(std::uint64_t P, Seed /*seed*/, std::uint64_t /*step*/) const {
  Edges edges(P);
  for (std::uint64_t r = 1; r < P; ++r) join(edges, r, (r - 1) / 2);
  return edges;
}

Edges Complete::edges(std::uint64_t P, Seed /*seed*/, std::uint64_t /*step*/) const {
  Edges edges(P);
  for (std::uint64_t r = 0; r < P; ++r)
    for (std::uint64_t q = 0; q < r; ++q) join(edges, r, q);
  return edges;
}

// The step of 1 first: with it alone the graph is strongly connected.
Edges Halton::edges(std::uint64_t P, Seed /*seed*/, std::uint64_t /*step*/) const {
  Edges edges(P);
  const auto degree = static_cast<std::size_t>(std::bit_width(P - 1));
  std::vector<std::uint64_t> distances;
  if (P > 1) distances.push_back(1);
  for (std::uint64_t k = 1; distances.size() < degree; ++k) {
    const auto d = static_cast<std::uint64_t>(halton(k) * static_cast<double>(P));
    if (d > 0 && std::ranges::find(distances, d) == distances.end()) distances.push_back(d);
  }
  for (std::uint64_t r = 0; r < P; ++r)
    for (const std::uint64_t d : distances) edges[r].insert((r + d) % P);
  return edges;
}

// Most draws contain an edge twice and are drawn again. Where the degree is close to P the last
// resort is a circulant graph of permuted members.
Edges Regular::edges(std::uint64_t P, Seed seed, std::uint64_t /*step*/) const {
  shoal::Random random(seed, Purpose::Topology, P, degree);
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

void Regular::require_possible(std::uint64_t members) const {
  if (degree >= members)
    throw ConfigError(
        fmt::format("--topology regular:{} with {} workers: each has {} others at most; take "
                    "--topology complete, or a degree below {}",
                    degree, members, members - 1, members));
  if (degree % 2 == 1 && members % 2 == 1)
    throw ConfigError(
        fmt::format("--topology regular:{} with {} workers: an odd number of workers cannot have "
                    "an odd degree each; take --topology regular:{}",
                    degree, members, degree - 1));
}

Edges Exponential::edges(std::uint64_t P, Seed /*seed*/, std::uint64_t /*step*/) const {
  Edges edges(P);
  for (std::uint64_t r = 0; r < P; ++r)
    for (std::uint64_t d = 1; d < P; d *= 2) edges[r].insert((r + d) % P);
  return edges;
}

Edges Hypercube::edges(std::uint64_t P, Seed /*seed*/, std::uint64_t step) const {
  Edges edges(P);
  const auto dimensions = static_cast<std::uint64_t>(std::bit_width(P - 1));
  if (dimensions == 0) return edges;
  const std::uint64_t bit = std::uint64_t{1} << step % dimensions;
  for (std::uint64_t r = 0; r < P; ++r)
    if ((r ^ bit) < P) join(edges, r, r ^ bit);
  return edges;
}

Edges Random::edges(std::uint64_t P, Seed seed, std::uint64_t step) const {
  Edges edges(P);
  shoal::Random random(seed, Purpose::Topology, P, step);
  for (std::uint64_t r = 0; r < P && P > 1; ++r) {
    const std::uint64_t other = random.below(P - 1);
    edges[r].insert(other < r ? other : other + 1);
  }
  return edges;
}

}  // namespace topology

namespace {

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
  return parse_choice<Topology>("--topology", text);
}

std::string to_string(const Topology& t) { return choice_text(t); }

bool is_symmetric(const Topology& t) {
  return std::visit([](const auto& rule) { return rule.kSymmetric; }, t);
}

void require_possible(const Topology& t, std::uint64_t members) {
  std::visit([&](const auto& rule) { rule.require_possible(members); }, t);
}

Graph graph_of(const Topology& t, std::uint64_t members, Seed seed, std::uint64_t step) {
  Graph graph;
  const topology::Edges edges =
      std::visit([&](const auto& rule) { return rule.edges(members, seed, step); }, t);
  for (const std::set<std::uint64_t>& to : edges) {
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
