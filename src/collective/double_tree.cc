#include "collective/double_tree.h"

#include <algorithm>
#include <bit>

#include "collective/cost_terms.h"
#include "collective/exchange.h"
#include "collective/steps.h"
#include "runtime/task_group.h"

namespace shoal {
namespace {

// Smaller chunks would cost more in latency than they gain by overlap.
constexpr std::uint64_t kChunkMin = 16 * 1024;  // elements
constexpr std::uint64_t kChunksMax = 64;

// One chunk of one half of the data, from the leaves to the root and back.
struct Chunk {
  Range data;
  Range scratch;
  Tag up;
  Tag down;
};

Task<void> reduce_chunk(const Group& group, const TreePlace& place, Chunk chunk) {
  for (const std::uint64_t child : place.children)
    co_await add_given(group, group.at(child), chunk.up, chunk.data, chunk.scratch);
  if (place.parent) {
    const NodeId parent = group.at(*place.parent);
    co_await give(group, parent, chunk.up, chunk.data);
    co_await receive(group, parent, chunk.down, chunk.data.bytes());
  }
  for (const std::uint64_t child : place.children)
    co_await group.node.endpoint.send(group.at(child), chunk.down, chunk.data.bytes());
}

// Reduces every `stride`-th chunk from `first` on, one after the other.
Task<void> reduce_some(const Group& group, const TreePlace& place, std::uint64_t half, Range data,
                       Range scratch, std::uint64_t operation, std::uint64_t first,
                       std::uint64_t stride, std::uint64_t chunks) {
  for (std::uint64_t c = first; c < chunks; c += stride) {
    const std::uint64_t round = (2 * half) * chunks + c;
    const Chunk chunk{part_of(data, c, chunks), part_of(scratch, c, chunks),
                      group.tag(operation, round), group.tag(operation, round + chunks)};
    co_await reduce_chunk(group, place, chunk);
  }
}

}  // namespace

TreePlace place_in_tree(std::uint64_t r, std::uint64_t P) {
  TreePlace place;
  if (r == 0) {
    if (P > 1) place.children.push_back(std::bit_floor(P - 1));
    return place;
  }
  const std::uint64_t bit = r & (~r + 1);  // the lowest bit set: the height above the leaves
  const std::uint64_t up = (r ^ bit) | (bit << 1U);
  place.parent = up < P ? up : r ^ bit;
  if (bit == 1) return place;
  place.children.push_back(r - bit / 2);
  // The last rank may cut the right subtree short.
  std::uint64_t low = bit / 2;
  while (low > 0 && r + low >= P) low /= 2;
  if (low > 0) place.children.push_back(r + low);
  return place;
}

TreePlace place_in_double_tree(std::uint64_t half, std::uint64_t r, std::uint64_t P) {
  if (half == 0) return place_in_tree(r, P);
  const bool mirrored = P % 2 == 0;
  const auto turned = [&](std::uint64_t v) { return mirrored ? P - 1 - v : (v + 1) % P; };
  TreePlace place = place_in_tree(mirrored ? P - 1 - r : (r + P - 1) % P, P);
  if (place.parent) place.parent = turned(*place.parent);
  for (std::uint64_t& child : place.children) child = turned(child);
  return place;
}

std::uint64_t double_tree_chunks(Elements n) {
  return std::clamp<std::uint64_t>(n.value() / 2 / kChunkMin, 1, kChunksMax);
}

Task<void> double_tree_all_reduce(const Group& group, Range data, Range scratch,
                                  std::uint64_t operation) {
  const std::uint64_t P = group.size();
  const std::uint64_t chunks = double_tree_chunks(data.n);
  // Enough chunks under way to fill the pipeline up and down. With more, the leaves would send all
  // their data before the sums are forwarded.
  const std::uint64_t lanes = std::min<std::uint64_t>(chunks, 2 * std::bit_width(P) + 2);
  const TreePlace places[2] = {place_in_double_tree(0, group.rank.value(), P),
                               place_in_double_tree(1, group.rank.value(), P)};
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    for (std::uint64_t lane = 0; lane < lanes; ++lane)
      for (std::uint64_t half = 0; half < 2; ++half)
        tasks.spawn(reduce_some(group, places[half], half, part_of(data, half, 2),
                                part_of(scratch, half, 2), operation, lane, lanes, chunks));
    co_return;
  });
}

namespace {

double double_tree_seconds(const CostTerms& t) {
  const double h = rounds_among(t.shape.members);
  const double C = static_cast<double>(
      double_tree_chunks(Elements(static_cast<std::uint64_t>(t.m) / sizeof(float))));
  // Where two members are each the root of one tree, each sends one half up and the other down.
  const double share = t.P > 2 ? 1 : 0.5;
  // Inside a host only the way down costs bytes, and what copies them is what adds.
  const double both_ways = (t.far ? 2 : 1) * t.m * t.link.beta;
  const double adding = t.m * t.gamma;
  const double messages = 4 * C * t.link.overhead;
  const double each = t.far ? std::max({share * both_ways, adding, messages})
                            : share * (both_ways + adding) + messages;
  const double first = (2 * h - 1) * (both_ways + adding) / 2;
  return 2 * h * t.link.alpha + (first + (C - 1) * each) / C;
}

}  // namespace

constinit const ExchangeAlgorithm kDoubleTreeExchange{
    .name = "double-tree",
    .help = "each half of the sum goes up and down a tree of its own",
    .all_reduce = double_tree_all_reduce,
    .seconds = double_tree_seconds};

}  // namespace shoal
