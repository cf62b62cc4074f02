#include "collective/cost.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "collective/double_tree.h"
#include "collective/hierarchical.h"

namespace shoal {
namespace {

constexpr double kFewestRounds = 0.8;

double rounds(std::uint64_t n) { return std::ceil(std::log2(static_cast<double>(n))); }

// The quantities in the formulas.
struct Terms {
  Terms(const CostModel& c, GroupShape shape, Bytes size)
      : P(static_cast<double>(shape.members)),
        H(static_cast<double>(shape.hosts)),
        k(std::ceil(P / H)),
        m(static_cast<double>(size.value())),
        in(c.inside),
        out(c.between),
        far(shape.hosts > 1),
        link(far ? c.between : c.inside),
        gamma(c.gamma) {}

  // A message whose receiver adds its content.
  double given(double bytes) const { return far ? out.alpha + bytes * out.beta : in.alpha; }

  double P, H, k;
  double m;  // bytes
  LinkCost in, out;
  bool far;
  LinkCost link;  // the slowest on the path
  double gamma;
};

double ring(const Terms& t) {
  const double part = t.m / t.P;
  // With several members on a host, transfers between hosts hide the other costs.
  if (t.far && t.k > 1)
    return 2 * (t.H - 1) * t.out.alpha + 2 * (t.P - 1) * part * t.out.beta + 2 * t.k * t.in.alpha;
  return (t.P - 1) * (t.given(part) + t.link.alpha + part * t.link.beta + part * t.gamma);
}

double direct(const Terms& t) {
  const double others = (t.P - 1) / t.P * t.m;
  const double abroad = t.far ? t.k * (t.P - t.k) / t.P * t.m * t.out.beta : 0;
  const double copied = t.far ? abroad : others * t.in.beta;
  return 2 * (t.link.alpha + (t.P - 2) * t.link.overhead) + abroad + copied + others * t.gamma;
}

// Rounds among a power of two of members: those over the longest distances cross hosts.
struct Rounds {
  explicit Rounds(const Terms& t)
      : Q(std::exp2(std::floor(std::log2(t.P)))),
        abroad(t.far ? std::min(rounds(static_cast<std::uint64_t>(t.H)), std::log2(Q)) : 0),
        at_home(std::log2(Q) - abroad) {}
  double Q, abroad, at_home;
};

double fold(const Terms& t, const Rounds& r) {
  if (r.Q == t.P) return 0;
  return t.given(t.m) + t.m * t.gamma + t.link.alpha + t.m * t.link.beta;
}

double butterfly(const Terms& t) {
  const Rounds r(t);
  return r.abroad * (t.out.alpha + t.k * t.m * t.out.beta) +
         r.at_home * (t.in.alpha + t.m * t.in.beta) + (r.abroad + r.at_home) * t.m * t.gamma +
         fold(t, r);
}

double halving_doubling(const Terms& t) {
  const Rounds r(t);
  const double hosts = std::exp2(r.abroad);
  const double abroad = 2 * (r.abroad * t.out.alpha + t.k * t.m * (1 - 1 / hosts) * t.out.beta);
  const double at_home = 2 * r.at_home * t.in.alpha + t.m / hosts * (1 - hosts / r.Q) * t.in.beta;
  return abroad + at_home + (r.Q - 1) / r.Q * t.m * t.gamma + fold(t, r);
}

double tree(const Terms& t) {
  const double abroad = t.far ? rounds(static_cast<std::uint64_t>(t.H)) : 0;
  const double at_home = std::max(0.0, rounds(static_cast<std::uint64_t>(t.P)) - abroad);
  return 2 * abroad * (t.out.alpha + t.m * t.out.beta) +
         at_home * (2 * t.in.alpha + t.m * t.in.beta) + (abroad + at_home) * t.m * t.gamma;
}

double double_tree(const Terms& t) {
  const double h = rounds(static_cast<std::uint64_t>(t.P));
  const double C = static_cast<double>(
      double_tree_chunks(Elements(static_cast<std::uint64_t>(t.m) / sizeof(float))));
  // With two members, each is the root of one tree: it sends one half up and the other half down.
  const double share = t.P > 2 ? 1 : 0.5;
  // Inside a host only the way down costs bytes, and the core that copies them also adds.
  const double both_ways = (t.far ? 2 : 1) * t.m * t.link.beta;
  const double adding = t.m * t.gamma;
  const double messages = 4 * C * t.link.overhead;
  const double each = t.far ? std::max({share * both_ways, adding, messages})
                            : share * (both_ways + adding) + messages;
  const double first = (2 * h - 1) * (both_ways + adding) / 2;
  return 2 * h * t.link.alpha + (first + (C - 1) * each) / C;
}

double hierarchical(const CostModel& costs, const Terms& t, Bytes size) {
  const std::uint64_t hosts = static_cast<std::uint64_t>(t.H);
  const double inner =
      hosts == 1 ? 0 : predict(inner_exchange(hosts), costs, GroupShape{hosts, hosts}, size);
  if (t.k == 1) return inner;
  const double others = (t.k - 1) / t.k * t.m;
  return 3 * t.in.alpha + others * (t.gamma + t.in.beta) + inner + (t.k - 1) * t.m * t.in.beta;
}

std::string duration(double s) {
  if (s < 1e-3) return fmt::format("{:.3g} us", s * 1e6);
  return s < 1 ? fmt::format("{:.3g} ms", s * 1e3) : fmt::format("{:.3g} s", s);
}

}  // namespace

GroupShape shape_of(const Group& group) { return {group.size(), group.hosts()}; }

double predict(Exchange exchange, const CostModel& costs, GroupShape shape, Bytes size) {
  if (shape.members == 1) return 0;
  const Terms t(costs, shape, size);
  switch (exchange) {
    case Exchange::Ring: return ring(t);
    case Exchange::Butterfly: return butterfly(t);
    case Exchange::HalvingDoubling: return halving_doubling(t);
    case Exchange::Tree: return tree(t);
    case Exchange::DoubleTree: return double_tree(t);
    case Exchange::Direct: return direct(t);
    case Exchange::Hierarchical: return hierarchical(costs, t, size);
    case Exchange::Auto: break;
  }
  SHOAL_CHECK(false, "auto has no cost of its own");
  return 0;
}

Choice choose(const CostModel& costs, GroupShape shape, Bytes size) {
  Choice best;
  Choice second;
  best.seconds = second.seconds = std::numeric_limits<double>::infinity();
  // The formulas leave out the members' own cost of a round, so that another exchange must be
  // clearly cheaper than the one with the fewest rounds.
  const auto weight = [](Exchange e) { return e == Exchange::Butterfly ? kFewestRounds : 1.0; };
  for (const Exchange exchange : kAllReduces) {
    // On one host, or with one member on each, hierarchical is a flat exchange by a detour.
    const bool flat = shape.hosts == 1 || shape.hosts == shape.members;
    if (exchange == Exchange::Hierarchical && flat) continue;
    const double seconds = predict(exchange, costs, shape, size);
    if (seconds * weight(exchange) < best.seconds * weight(best.exchange)) {
      second = std::exchange(best, Choice{exchange, seconds, {}});
    } else if (seconds < second.seconds) {
      second = {exchange, seconds, {}};
    }
  }
  best.why = fmt::format(
      "{} for {} bytes among {} members on {} host{}: {} predicted, {} for {}, which is next; "
      "messages take {} + {:.3g} ns/KiB inside a host, {} + {:.3g} ns/KiB between hosts",
      to_string(best.exchange), size, shape.members, shape.hosts, shape.hosts == 1 ? "" : "s",
      duration(best.seconds), duration(second.seconds), to_string(second.exchange),
      duration(costs.inside.alpha), costs.inside.beta * 1024e9, duration(costs.between.alpha),
      costs.between.beta * 1024e9);
  return best;
}

}  // namespace shoal
