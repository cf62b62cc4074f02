#include "bench/transport_rank.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "launch/process.h"
#include "runtime/range.h"
#include "runtime/task_group.h"

namespace shoal {
namespace {

constexpr GroupId kGroup{7};
constexpr std::uint64_t kWarmUp = 10;  // rounds before the clock starts, one in so many
constexpr int kOutstanding = 4;        // large messages on their way at once

Tag tag_of(const Node& node, std::uint64_t id) {
  Tag tag;
  tag.group = kGroup;
  tag.generation = node.membership.now().generation;
  tag.id = id;
  return tag;
}

Match from(NodeId peer, Tag tag) {
  Match match;
  match.from = peer;
  match.tag = tag;
  return match;
}

// Writes message i, which differs from every other message.
void fill(MutBuf room, std::uint64_t i) {
  const std::uint64_t word = 0x9E3779B97F4A7C15ULL * (i + 1);
  const std::size_t n = std::min<std::size_t>(room.size.value(), sizeof word);
  std::memcpy(room.data, &word, n);
  std::memcpy(room.data + room.size.value() - n, &word, n);
}

void verify(ConstBuf got, std::uint64_t i) {
  std::vector<std::byte> expected(std::min<std::uint64_t>(got.size.value(), 8));
  fill({expected.data(), Bytes(expected.size())}, i);
  const std::size_t n = expected.size();
  const bool same = std::memcmp(got.data, expected.data(), n) == 0 &&
                    std::memcmp(got.data + got.size.value() - n, expected.data(), n) == 0;
  if (!same) throw Error(fmt::format("message {} of {} bytes arrived wrong", i, got.size));
}

struct Memory {
  Memory(Node& node, Bytes size) : data(node.endpoint.allocate(size)), room{data.get(), size} {}
  std::shared_ptr<std::byte> data;
  MutBuf room;
};

// There and back, again and again: microseconds one way.
Task<double> latency(Node& node, const TransportRankOptions& o) {
  const Memory out(node, o.size);
  const Memory in(node, o.size);
  const NodeId peer(1 - node.id.value());
  const std::uint64_t warm = o.iterations / kWarmUp;
  Time begun = node.env.now();
  for (std::uint64_t i = 0; i < warm + o.iterations; ++i) {
    if (i == warm) begun = node.env.now();
    if (node.id == NodeId(0)) {
      fill(out.room, i);
      co_await node.endpoint.send(peer, tag_of(node, 1), out.room);
    }
    co_await node.endpoint.recv(from(peer, tag_of(node, 1)), in.room);
    verify(in.room, i);
    if (node.id == NodeId(1)) co_await node.endpoint.send(peer, tag_of(node, 1), in.room);
  }
  co_return seconds(node.env.now() - begun) / static_cast<double>(o.iterations) / 2 * 1e6;
}

// Sends every kOutstanding-th message. As in ucx_perftest, all messages use the same range and the
// same room: the fraction that stays in the caches decides the figure. Two receives into one room
// are allowed here because they bring the same bytes.
Task<void> send_some(Node& node, const TransportRankOptions& o, const Memory& out, int lane) {
  for (std::uint64_t i = static_cast<std::uint64_t>(lane); i < o.iterations; i += kOutstanding)
    co_await node.endpoint.send(NodeId(1), tag_of(node, 10 + i), out.room);
}

Task<void> receive_some(Node& node, const TransportRankOptions& o, const Memory& in, int lane) {
  for (std::uint64_t i = static_cast<std::uint64_t>(lane); i < o.iterations; i += kOutstanding) {
    const Received r = co_await node.endpoint.recv(from(NodeId(0), tag_of(node, 10 + i)), in.room);
    require_size(r, o.size);
  }
}

// One way, several at once; the clock stops when the receiver says that it has the last.
Task<double> bandwidth(Node& node, const TransportRankOptions& o) {
  const NodeId peer(1 - node.id.value());
  const Memory memory(node, o.size);
  std::uint64_t token = 0;
  Time begun = node.env.now();
  for (std::uint64_t round = 0; round < 2; ++round) {  // the first warms up
    if (node.id == NodeId(0)) fill(memory.room, round);
    begun = node.env.now();
    co_await with_group([&](TaskGroup& group) -> Task<> {
      for (int lane = 0; lane < kOutstanding; ++lane)
        group.spawn(node.id == NodeId(0) ? send_some(node, o, memory, lane)
                                         : receive_some(node, o, memory, lane));
      co_return;
    });
    if (node.id == NodeId(1)) verify(memory.room, round);
    if (node.id == NodeId(0)) {
      co_await node.endpoint.recv(from(peer, tag_of(node, 2)), mut_buf(token));
    } else {
      co_await node.endpoint.send(peer, tag_of(node, 2), const_buf(token));
    }
  }
  const double took = seconds(node.env.now() - begun);
  co_return static_cast<double>(o.size.value() * o.iterations) / took;
}

struct Rates {
  double read;
  double within;  // within the process
};

// Rank 0 publishes; rank 1 reads in place and copies into its own memory. In turn it copies from
// memory of its own.
Task<Rates> read_in_place(Node& node, const TransportRankOptions& o) {
  const Memory memory(node, o.size);
  const std::vector<std::byte> own(o.size.value(), std::byte{2});
  std::memset(memory.room.data, 1, o.size.value());  // no page is touched for the first time below
  const NodeId peer(1 - node.id.value());
  std::uint64_t token = 0;
  double reading_s = 0;
  double within_s = 0;
  for (std::uint64_t i = 0; i < o.iterations + 1; ++i) {
    if (node.id == NodeId(0)) {
      fill(memory.room, i);
      co_await node.endpoint.publish(peer, tag_of(node, 3), memory.room);
      continue;
    }
    const Reading reading = co_await node.endpoint.read(from(peer, tag_of(node, 3)));
    const auto copy = [&](const std::byte* from_there) {
      const Time begun = node.env.now();
      std::memcpy(memory.room.data, from_there, o.size.value());
      return i > 0 ? seconds(node.env.now() - begun) : 0;
    };
    // Alternates which of the two comes first.
    if (i % 2 == 0) within_s += copy(own.data());
    reading_s += copy(reading.data().data);
    verify(memory.room, i);
    if (i % 2 == 1) within_s += copy(own.data());
  }
  const auto bytes = static_cast<double>(o.size.value() * o.iterations);
  Rates rates{bytes / reading_s, bytes / within_s};
  if (node.id == NodeId(0)) {
    co_await node.endpoint.recv(from(peer, tag_of(node, 2)), mut_buf(rates));
  } else {
    co_await node.endpoint.send(peer, tag_of(node, 2), const_buf(rates));
    co_await node.endpoint.recv(from(peer, tag_of(node, 4)), mut_buf(token));
  }
  if (node.id == NodeId(0)) co_await node.endpoint.send(peer, tag_of(node, 4), const_buf(token));
  co_return rates;
}

Task<void> measure(Node& node, const TransportRankOptions& o) {
  while (node.membership.now().size() < 2)
    co_await node.membership.after(node.membership.now().generation);
  const bool lat = o.operation == "latency";
  const bool bw = o.operation == "bandwidth";
  Rates value{};
  if (lat) {
    value.read = co_await latency(node, o);
  } else if (bw) {
    value.read = co_await bandwidth(node, o);
  } else {
    value = co_await read_in_place(node, o);
  }
  if (node.id != NodeId(0)) co_return;
  fmt::print("result {:.6g} {:.6g}\n", value.read, value.within);
  std::fflush(stdout);
}

}  // namespace

void run_transport_rank(const TransportRankOptions& options) {
  if (options.operation != "latency" && options.operation != "bandwidth" &&
      options.operation != "read")
    throw ConfigError(fmt::format("unknown operation '{}'", options.operation));
  FromEnvironment env = process_from_environment(environment_of_this_process());
  env.options.transports = {options.transport};
  env.options.compute_thread = false;
  env.options.log = false;
  Process process(env.options);
  process.run([&](Node& node) { return measure(node, options); });
}

}  // namespace shoal
