// Shared by the cases of the conformance suite: tags, contents that can be checked, and an orderly
// end.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/types.h"
#include "runtime/buffer.h"
#include "runtime/node.h"
#include "runtime/task_group.h"

namespace shoal {

using ByteVector = std::vector<std::byte>;

// Sizes around the limits at which transports change behaviour: empty, odd, eager or not, one or
// many slices.
inline constexpr std::size_t kEager = 8 * 1024;
inline constexpr std::size_t kSlices = 1024 * 1024 + 3;
inline constexpr std::size_t kLarge = 4 * 1024 * 1024 + 3;

inline constexpr std::array<std::size_t, 2> kTwoSizes{100, kEager + 1};  // buffered, and not

inline constexpr std::byte kUntouched{0xEE};  // the content of a room before a receive

// The i-th eight bytes of message `number` from node a to node b, in closed form. Words, because
// sanitizers make loops over bytes slow.
inline std::uint64_t coded(NodeId a, NodeId b, std::uint64_t number, std::size_t i) {
  const std::uint64_t x = (a.value() + 1) * 0x9E3779B97F4A7C15ULL +
                          (b.value() + 1) * 0xBF58476D1CE4E5B9ULL +
                          (number + 1) * 0x94D049BB133111EBULL + i * 0xD6E8FEB86659FD93ULL;
  return x ^ (x >> 32U);
}

// The whole message. Its last word is truncated if the size is not a multiple of eight.
inline ByteVector message(NodeId a, NodeId b, std::uint64_t number, std::size_t size) {
  std::vector<std::uint64_t> words((size + 7) / 8);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = coded(a, b, number, i);
  ByteVector bytes(size);
  if (size > 0) std::memcpy(bytes.data(), words.data(), size);
  return bytes;
}

// Empty if the bytes are that message; otherwise tells the first difference.
inline std::string difference(std::span<const std::byte> bytes, NodeId a, NodeId b,
                              std::uint64_t number) {
  const ByteVector expected = message(a, b, number, bytes.size());
  if (bytes.empty() || std::memcmp(bytes.data(), expected.data(), bytes.size()) == 0) return {};
  std::size_t i = 0;
  while (bytes[i] == expected[i]) ++i;
  return fmt::format(
      "message {} from node {} to node {} of {} bytes differs at index {}: {:#x}, not {:#x}",
      number, a, b, bytes.size(), i, static_cast<unsigned>(bytes[i]),
      static_cast<unsigned>(expected[i]));
}

inline Tag tag_of(Generation generation, std::uint64_t id) {
  Tag tag;
  tag.group = GroupId(1);
  tag.generation = generation;
  tag.id = id;
  return tag;
}

inline Match from(NodeId node, Tag tag) {
  Match match;
  match.from = node;
  match.tag = tag;
  return match;
}

inline ConstBuf whole(const ByteVector& bytes) { return const_buf(std::span(bytes)); }
inline MutBuf room(ByteVector& bytes) { return mut_buf(std::span(bytes)); }
inline void wipe(ByteVector& bytes) {
  if (!bytes.empty()) std::memset(bytes.data(), static_cast<int>(kUntouched), bytes.size());
}
inline bool untouched(const ByteVector& bytes) {
  return bytes == ByteVector(bytes.size(), kUntouched);
}

inline NodeId node_id(std::size_t n) { return NodeId(static_cast<std::uint32_t>(n)); }

inline Task<void> send_message(Node& node, NodeId to, Tag tag, std::uint64_t number,
                               std::size_t size) {
  const ByteVector bytes = message(node.id, to, number, size);
  co_await node.endpoint.send(to, tag, whole(bytes));
}

inline Task<void> recv_message(Node& node, NodeId sender, Tag tag, std::uint64_t number,
                               std::size_t size) {
  ByteVector bytes(size, kUntouched);
  const Received r = co_await node.endpoint.recv(from(sender, tag), room(bytes));
  EXPECT_EQ(r.from, sender);
  EXPECT_EQ(r.id, tag.id);
  EXPECT_EQ(r.size, Bytes(size));
  EXPECT_EQ(difference(bytes, sender, node.id, number), "");
}

// Waits for the first view of this node, and returns its generation.
inline Task<Generation> first_generation(Node& node) {
  const ViewPtr view = co_await node.membership.after(Generation(0));
  co_return view->generation;
}

// An id that the cases do not use.
inline constexpr std::uint64_t kTokenId = 0xFFFF'0000;

// A message without content, to signal progress.
inline Task<void> send_token(Node& node, NodeId to, std::uint64_t number = 0) {
  co_await node.endpoint.send(to, tag_of(Generation(0), kTokenId + number), ConstBuf{});
}
inline Task<void> recv_token(Node& node, NodeId sender, std::uint64_t number = 0) {
  co_await node.endpoint.recv(from(sender, tag_of(Generation(0), kTokenId + number)), MutBuf{});
}

// Waits until all of `who` are here before any leaves: a node that left is lost to the others, and
// its last messages may be lost with it.
inline Task<void> finish(Node& node, std::vector<NodeId> who) {
  constexpr std::uint64_t kHere = 0x100;
  constexpr std::uint64_t kGo = 0x101;
  const NodeId first = who.front();
  if (node.id == first) {
    for (const NodeId other : who)
      if (other != first) co_await recv_token(node, other, kHere);
    for (const NodeId other : who)
      if (other != first) co_await send_token(node, other, kGo);
    co_return;
  }
  co_await send_token(node, first, kHere);
  try {
    co_await recv_token(node, first, kGo);
  } catch (const PeerLost&) {
    // It has left already, so all were here.
  }
}

inline std::vector<NodeId> everyone(std::size_t nodes) {
  std::vector<NodeId> all;
  for (std::size_t n = 0; n < nodes; ++n) all.push_back(node_id(n));
  return all;
}

}  // namespace shoal
