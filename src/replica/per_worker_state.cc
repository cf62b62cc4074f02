#include "replica/per_worker_state.h"

#include <cstring>
#include <utility>

#include "base/error.h"
#include "runtime/slices.h"
#include "runtime/task_group.h"

namespace shoal {
namespace {

// Rounds of an operation: first the list of arrays, then the arrays.
constexpr std::uint64_t kBits = 0;
constexpr std::uint64_t kArrays = 64;

bool bit(std::uint64_t bits, std::size_t k) { return (bits >> k & 1U) != 0; }

Task<void> lend(const Group& group, Range range, Tag tag) {
  co_await group.node.endpoint.publish(group.at(0), tag, range.bytes());
}

const KeptArray* find(const std::vector<KeptArray>& kept, NodeId node,
                      const PerWorkerArray& array) {
  for (const KeptArray& one : kept) {
    const bool meant = one.node == node || array.owner == Owner::All;
    if (!meant || one.name != array.name) continue;
    const Bytes here = array.range.bytes().size;
    if (one.numbers.size != here)
      throw DataError(
          fmt::format("the checkpoint has {} of {} for worker {}, this run needs {}\n"
                      "Hint: resume with the same settings, or start anew in another folder",
                      one.numbers.size, one.name, node, here));
    return &one;
  }
  return nullptr;
}

}  // namespace

Task<void> PerWorkerState::collect(const Group& group, std::vector<PerWorkerArray> arrays,
                                   std::uint64_t operation, std::vector<KeptArray>& kept) {
  SHOAL_CHECK_LE(arrays.size(), kOwnArraysMost);
  std::uint64_t own = 0;
  for (std::size_t k = 0; k < arrays.size(); ++k)
    if (arrays[k].range.n > Elements(0) &&
        (arrays[k].owner == Owner::Each || group.rank == Rank(0)))
      own |= std::uint64_t{1} << k;
  const std::vector<std::uint64_t> all = co_await gathering_.of_all(group, own, operation);
  if (group.rank != Rank(0)) {
    co_await with_group([&](TaskGroup& tasks) -> Task<> {
      for (std::size_t k = 0; k < arrays.size(); ++k)
        if (bit(own, k))
          tasks.spawn(lend(group, arrays[k].range, group.tag(operation, kArrays + k)));
      co_return;
    });
    co_return;
  }
  for (std::uint32_t r = 0; r < group.size(); ++r) {
    for (std::size_t k = 0; k < arrays.size(); ++k) {
      if (!bit(all[r], k)) continue;
      KeptArray one{group.at(r), arrays[k].name, arrays[k].range.bytes(), nullptr};
      if (r > 0) {
        const Match match{.from = group.at(r), .tag = group.tag(operation, kArrays + k)};
        Reading lent = co_await group.node.endpoint.read(match);
        require_size(lent, one.numbers.size);
        one.numbers = lent.data();
        one.hold = std::make_shared<Reading>(std::move(lent));
      }
      kept.push_back(std::move(one));
    }
  }
}

Task<void> PerWorkerState::give_back(const Group& group, Rank source, const std::vector<bool>& to,
                                     std::vector<PerWorkerArray>& arrays, std::uint64_t operation,
                                     const std::vector<KeptArray>& kept) {
  SHOAL_CHECK_LE(arrays.size(), kOwnArraysMost);
  bits_.assign(group.size(), 0);
  if (group.rank != source) {
    if (to[group.rank.value()]) co_await take(group, source, arrays, operation);
    co_return;
  }
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    for (std::uint32_t r = 0; r < group.size(); ++r)
      if (to[r]) tasks.spawn(give(group, Rank(r), arrays, operation, kept));
    co_return;
  });
  for (std::size_t k = 0; k < arrays.size(); ++k) arrays[k].came = bit(bits_[source.value()], k);
}

Task<void> PerWorkerState::give(const Group& group, Rank to,
                                const std::vector<PerWorkerArray>& arrays, std::uint64_t operation,
                                const std::vector<KeptArray>& kept) {
  Endpoint& endpoint = group.node.endpoint;
  const NodeId there = group.at(to.value());
  std::uint64_t& bits = bits_[to.value()];
  for (std::size_t k = 0; k < arrays.size(); ++k)
    if (find(kept, there, arrays[k]) != nullptr) bits |= std::uint64_t{1} << k;
  if (to != group.rank) co_await endpoint.send(there, group.tag(operation, kBits), const_buf(bits));
  for (std::size_t k = 0; k < arrays.size(); ++k) {
    if (!bit(bits, k)) continue;
    const ConstBuf numbers = find(kept, there, arrays[k])->numbers;
    if (to != group.rank) {
      co_await endpoint.send(there, group.tag(operation, kArrays + k), numbers);
      continue;
    }
    const std::span<float> room = arrays[k].range.data();
    const SliceWork work = [&](std::size_t from, std::size_t end) {
      std::memcpy(room.data() + from, numbers.data + from * sizeof(float),
                  (end - from) * sizeof(float));
    };
    co_await in_slices(group.node.env, Work::Copy, room.size(), room.empty(), Order::Forward, 1,
                       work);
  }
}

Task<void> PerWorkerState::take(const Group& group, Rank source,
                                std::vector<PerWorkerArray>& arrays, std::uint64_t operation) {
  Endpoint& endpoint = group.node.endpoint;
  const NodeId from = group.view->at(source);
  std::uint64_t& bits = bits_[group.rank.value()];
  const Match first{.from = from, .tag = group.tag(operation, kBits)};
  const Received told = co_await endpoint.recv(first, mut_buf(bits));
  require_size(told, Bytes(sizeof(bits)));
  for (std::size_t k = 0; k < arrays.size(); ++k) {
    arrays[k].came = bit(bits, k);
    if (!arrays[k].came) continue;
    const Match match{.from = from, .tag = group.tag(operation, kArrays + k)};
    const Received got = co_await endpoint.recv(match, arrays[k].range.bytes());
    require_size(got, arrays[k].range.bytes().size);
  }
}

}  // namespace shoal
