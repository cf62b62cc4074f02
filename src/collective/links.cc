#include "collective/links.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <sstream>

#include "base/error.h"
#include "collective/dissemination.h"
#include "collective/reduce.h"
#include "collective/steps.h"

namespace shoal {
namespace {

constexpr Elements kLarge{1U << 18U};  // elements of a large message
constexpr Elements kSmall{1};
constexpr int kPings = 16;
constexpr int kLargePings = 4;
constexpr int kBurst = 32;

// The measurements of one member.
struct Finding {
  CostModel costs;
  bool inside = false;
  bool between = false;
};

struct Pair {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
};

// The first two members of one host, or of two hosts.
std::optional<Pair> pair_of(const Group& group, bool one_host) {
  const auto host = [&](std::uint64_t r) { return group.view->members[r].host; };
  for (std::uint64_t a = 0; a < group.size(); ++a)
    for (std::uint64_t b = a + 1; b < group.size(); ++b)
      if ((host(a) == host(b)) == one_host) return Pair{a, b};
  return std::nullopt;
}

// One of the two members that ping; the one with `leads` sends first.
struct Pinger {
  const Group& group;
  NodeId peer;
  bool leads;
  Tag tag;
  Range out;
  Range in;

  Task<void> out_and_back(Elements n) {
    const Range here = in.slice(Elements(0), n);
    Endpoint& endpoint = group.node.endpoint;
    if (leads) co_await endpoint.send(peer, tag, out.slice(Elements(0), n).bytes());
    co_await receive(group, peer, tag, here.bytes());
    if (!leads) co_await endpoint.send(peer, tag, here.bytes());
  }
  // The fastest of several: other load on the machine only adds time.
  Task<double> one_way(Elements n, int times) {
    double fastest = 0;
    for (int i = 0; i < times; ++i) {
      const Time begin = group.node.env.now();
      co_await out_and_back(n);
      const double took = seconds(group.node.env.now() - begin) / 2;
      if (i == 0 || took < fastest) fastest = took;
    }
    co_return fastest;
  }
  // The mean of several. The first is not counted: it touches its memory for the first time.
  Task<double> one_way_on_average(Elements n, int times) {
    co_await out_and_back(n);
    const Time begin = group.node.env.now();
    for (int i = 0; i < times; ++i) co_await out_and_back(n);
    co_return seconds(group.node.env.now() - begin) / 2 / times;
  }
  // Sends several in a row, then gets a small one back; returns the total time.
  Task<double> in_a_row(Elements n, int times) {
    const Time begin = group.node.env.now();
    for (int i = 0; i < times; ++i) {
      if (leads) {
        co_await group.node.endpoint.send(peer, tag, out.slice(Elements(0), n).bytes());
      } else {
        co_await receive(group, peer, tag, in.slice(Elements(0), n).bytes());
      }
    }
    co_await out_and_back(kSmall);
    co_return seconds(group.node.env.now() - begin);
  }
};

// Between hosts large messages are sent in a row: an idle link may carry a first burst faster than
// it can sustain, and with ping-pong each direction is idle while the other one is used.
Task<LinkCost> ping(Pinger pinger, bool one_host) {
  LinkCost cost;
  const double small = co_await pinger.one_way(kSmall, kPings);
  const int pings = one_host ? kLargePings : 1;
  double large = co_await pinger.one_way_on_average(kLarge, pings);
  if (!one_host) {
    const double row = co_await pinger.in_a_row(kLarge, kLargePings);
    large = (row - 2 * small) / kLargePings + small;
  }
  const double burst = co_await pinger.in_a_row(kSmall, kBurst);
  const auto bytes = static_cast<double>((kLarge - kSmall).value() * sizeof(float));
  cost.beta = std::max(0.0, (large - small) / bytes);
  cost.alpha = std::max(0.0, small - cost.beta * sizeof(float));
  cost.overhead = std::clamp((burst - 2 * small) / kBurst, 0.0, cost.alpha);
  co_return cost;
}

Task<double> measure_adding(const Group& group, LinkRoom& room) {
  const Range a = room.data.range(Elements(0), kLarge);
  const Range b = room.data.range(kLarge, kLarge);
  double fastest = 0;
  for (int i = 0; i < kLargePings; ++i) {
    const Time begin = group.node.env.now();
    std::vector<const float*> terms{a.data().data(), b.data().data()};
    co_await sum_up(group.node.env, a, 2, std::move(terms));
    const double took = seconds(group.node.env.now() - begin);
    if (i == 0 || took < fastest) fastest = took;
  }
  co_return fastest / static_cast<double>(kLarge.value() * sizeof(float));
}

// Every member's measurements, by rank.
Task<std::vector<Finding>> gather(const Group& group, LinkRoom& room, Finding own,
                                  std::uint64_t operation) {
  const std::uint64_t P = group.size();
  room.blocks.assign(P * sizeof(Finding), std::byte{0});
  room.room.assign(P * sizeof(Finding), std::byte{0});
  std::memcpy(room.blocks.data() + group.rank.value() * sizeof(Finding), &own, sizeof own);
  co_await all_gather(group, room.blocks, room.room, operation);
  std::vector<Finding> all(P);
  std::memcpy(all.data(), room.blocks.data(), room.blocks.size());
  co_return all;
}

std::string file_of(const Group& group, const std::string& folder) {
  const GroupShape shape = shape_of(group);
  return fmt::format("{}/links-{}-{}", folder, shape.members, shape.hosts);
}

std::string text_of(const CostModel& c) {
  return fmt::format("shoal links 1: {} {} {} {} {} {} {}\n", c.inside.alpha, c.inside.beta,
                     c.inside.overhead, c.between.alpha, c.between.beta, c.between.overhead,
                     c.gamma);
}

std::optional<CostModel> model_in(const std::string& text) {
  std::istringstream words(text);
  std::string shoal;
  std::string links;
  std::string version;
  CostModel c;
  words >> shoal >> links >> version >> c.inside.alpha >> c.inside.beta >> c.inside.overhead >>
      c.between.alpha >> c.between.beta >> c.between.overhead >> c.gamma;
  if (!words || links != "links" || version != "1:") return std::nullopt;
  return c;
}

Task<std::optional<CostModel>> load(Files& files, std::string folder, std::string path) {
  const std::vector<std::string> names = co_await files.list(folder);
  const std::string name = path.substr(folder.size() + 1);
  if (std::ranges::find(names, name) == names.end()) co_return std::nullopt;
  const std::vector<std::byte> bytes = co_await files.read(path);
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  co_return model_in(text);
}

}  // namespace

LinkRoom::LinkRoom(Endpoint& endpoint, Substance substance)
    : data(endpoint, kLarge * 2, substance) {}

Task<CostModel> measure_links(const Group& group, LinkRoom& room, std::uint64_t operation) {
  Finding own;
  std::uint64_t round = 1024;  // after the rounds of the all-gather
  for (int kind = 0; kind < 2; ++kind, ++round) {
    const bool one_host = kind == 0;
    const std::optional<Pair> pair = pair_of(group, one_host);
    if (!pair) continue;
    const std::uint64_t r = group.rank.value();
    if (r != pair->first && r != pair->second) continue;
    const bool leads = r == pair->first;
    const Pinger pinger{group,
                        group.at(leads ? pair->second : pair->first),
                        leads,
                        group.tag(operation, round),
                        room.data.range(Elements(0), kLarge),
                        room.data.range(kLarge, kLarge)};
    const LinkCost cost = co_await ping(pinger, one_host);
    if (!leads) continue;
    (one_host ? own.inside : own.between) = true;
    (one_host ? own.costs.inside : own.costs.between) = cost;
  }
  own.costs.gamma = co_await measure_adding(group, room);

  const std::vector<Finding> all = co_await gather(group, room, own, operation);
  CostModel model;
  for (const Finding& found : all) {
    if (found.inside) model.inside = found.costs.inside;
    if (found.between) model.between = found.costs.between;
    model.gamma = std::max(model.gamma, found.costs.gamma);
  }
  co_return model;
}

Task<CostModel> known_links(const Group& group, LinkRoom& room, std::string folder,
                            std::uint64_t operation) {
  const std::string path = file_of(group, folder);
  Finding own;
  if (group.rank == Rank(0)) {
    const std::optional<CostModel> before = co_await load(group.node.files, folder, path);
    own.inside = before.has_value();
    if (before) own.costs = *before;
  }
  const std::vector<Finding> all = co_await gather(group, room, own, operation);
  if (all[0].inside) co_return all[0].costs;
  const CostModel measured = co_await measure_links(group, room, operation + 1);
  if (group.rank == Rank(0)) {
    const std::string text = text_of(measured);
    co_await group.node.files.write(path, const_buf(std::span<const char>(text)));
  }
  co_return measured;
}

}  // namespace shoal
