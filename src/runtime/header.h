// The message header: 64 bytes before every payload, little-endian, the same on every transport.
//
//   0  u32 magic "SHOL"      16 u32 generation       40 u64 tag id
//   4  u16 version           20 u32 target           48 u64 size of the payload
//   6  u16 group             24 u32 target incarn.   56 u64 checksum of bytes 0..55
//   8  u32 source            28 u32 flags (none yet)
//   12 u32 incarnation       32 u64 sequence
//
// Collectives match the generation; servers and gossip, which outlive views, send generation 0, and
// only the incarnation matters. A malformed header throws Corrupt, which names the peer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/types.h"

namespace shoal {

// The conversation that a message belongs to.
struct Tag {
  GroupId group;
  Generation generation;  // 0: outlives views
  std::uint64_t id = 0;   // unique within (group, generation) among messages in flight

  auto operator<=>(const Tag&) const = default;
};

// All generations of a group that outlives views, including 0.
inline constexpr Generation kForGood{0xffff'ffffU};
// Whether retiring up to `retired` includes this generation.
constexpr bool covers(Generation retired, Generation generation) {
  return generation == Generation(0) ? retired == kForGood : generation <= retired;
}

std::string describe(const Tag& tag);

struct Header {
  NodeId source;
  Incarnation incarnation;
  NodeId target;
  Incarnation target_incarnation;
  Tag tag;
  std::uint64_t sequence = 0;  // per (source, target), from 0
  Bytes size;

  auto operator<=>(const Header&) const = default;
};

inline constexpr std::size_t kHeaderSize = 64;
inline constexpr std::uint16_t kProtocolVersion = 2;
inline constexpr Bytes kMessageSizeMax{std::uint64_t{1} << 40U};

using HeaderBytes = std::array<std::byte, kHeaderSize>;

HeaderBytes encode_header(const Header& header);
// The checksum of bytes 0..55, as the last eight must have it.
std::uint64_t header_checksum(const HeaderBytes& bytes);

// Throws Corrupt, naming `peer`, for anything that encode_header of this version cannot have made:
// too short, wrong magic, another version, impossible size, wrong checksum.
Header decode_header(std::span<const std::byte> bytes, NodeId peer);

}  // namespace shoal
