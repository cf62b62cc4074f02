#include "collective/fixed_tree.h"

#include <algorithm>
#include <optional>

#include "collective/reduce.h"
#include "collective/steps.h"
#include "runtime/slices.h"
#include "runtime/task_group.h"

namespace shoal {
namespace {

constexpr std::size_t kBlock = 1024;  // elements; each level of the tree has one block on the stack

void collect(Subtree node, std::uint32_t from, std::uint32_t to, std::vector<Subtree>& found) {
  if (node.from >= to || node.to <= from) return;
  if (node.from >= from && node.to <= to) {
    found.push_back(node);
  } else {
    collect(node.first_half(), from, to, found);
    collect(node.second_half(), from, to, found);
  }
}

struct Sums {
  std::span<const Subtree> held;
  std::span<const float* const> values;  // as held

  // Returns elements [at, at + n) of the node's sum; computes them into `room` unless they are
  // held.
  const float* of(Subtree node, std::size_t at, std::size_t n, float* room) const {
    for (std::size_t i = 0; i < held.size(); ++i)
      if (held[i] == node) return values[i] + at;
    float beside[kBlock];
    const float* const a = of(node.first_half(), at, n, room);
    const float* const b = of(node.second_half(), at, n, beside);
    for (std::size_t i = 0; i < n; ++i) room[i] = a[i] + b[i];
    return room;
  }
};

Task<void> read_sum(const Group& group, NodeId from, Tag tag, Bytes size,
                    std::optional<Reading>& sum) {
  const Match match{.from = from, .tag = tag};
  Reading reading = co_await group.node.endpoint.read(match);
  require_size(reading, size);
  sum = std::move(reading);
}

Task<void> add_up(const Group& group, std::uint32_t L, std::span<const HeldSum> held,
                  std::span<const Range> own, Cut cut, Range out, std::uint64_t operation) {
  std::vector<std::optional<Reading>> readings(held.size());
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    for (std::size_t i = 0; i < held.size(); ++i)
      if (held[i].holder != group.rank)
        tasks.spawn(read_sum(group, group.view->at(held[i].holder), group.tag(operation, i),
                             out.bytes().size, readings[i]));
    co_return;
  });
  std::vector<Subtree> nodes;
  std::vector<const float*> values;
  std::size_t mine = 0;
  for (const HeldSum& sum : held) nodes.push_back(sum.of);
  for (std::size_t i = 0; i < held.size(); ++i)
    values.push_back(readings[i] ? floats(readings[i]->data()).data()
                                 : cut_of(own[mine++], cut).data().data());
  const SliceWork slice = [&](std::size_t from, std::size_t to) {
    add_in_tree(L, nodes, values, from, to, out.data().data());
  };
  co_await in_slices(group.node.env, Work::Reduce, out.n.value(), out.data().empty(),
                     Order::Forward, static_cast<double>(held.size() - 1), slice);
}

bool covered(Subtree node, std::span<const Subtree> held) {
  if (std::ranges::find(held, node) != held.end()) return true;
  return !node.leaf() && covered(node.first_half(), held) && covered(node.second_half(), held);
}

}  // namespace

bool cover(std::uint32_t L, std::span<const Subtree> held) { return covered({0, L}, held); }

void add_in_tree(std::uint32_t L, std::span<const Subtree> held,
                 std::span<const float* const> values, std::size_t from, std::size_t to,
                 float* out) {
  const Sums sums{held, values};
  float room[kBlock];
  for (std::size_t at = from; at < to; at += kBlock) {
    const std::size_t n = std::min(kBlock, to - at);
    std::copy_n(sums.of({0, L}, at, n, room), n, out + at);
  }
}

std::vector<Subtree> subtrees(std::uint32_t L, std::uint32_t from, std::uint32_t to) {
  std::vector<Subtree> found;
  if (from < to) collect({0, L}, from, to, found);
  return found;
}

Task<void> fixed_tree_reduce_scatter(const Group& group, std::uint32_t L,
                                     std::span<const HeldSum> held, std::span<const Range> own,
                                     const Cuts& cuts, Range out, std::uint64_t operation) {
  const std::uint64_t P = group.size();
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    std::size_t mine = 0;
    for (std::size_t i = 0; i < held.size(); ++i) {
      if (held[i].holder != group.rank) continue;
      const Range range = own[mine++];
      const Tag tag = group.tag(operation, i);
      for (std::uint64_t k = 1; k < P; ++k) {
        const std::uint64_t to = (group.rank.value() + k) % P;
        const Range part = cut_of(range, cuts[to]);
        if (part.n > Elements(0)) tasks.spawn(as_task(give(group, group.at(to), tag, part)));
      }
    }
    if (out.n > Elements(0))
      co_await add_up(group, L, held, own, cuts[group.rank.value()], out, operation);
  });
}

}  // namespace shoal
