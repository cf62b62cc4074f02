#include "runtime/header.h"

#include <cstring>

#include "base/error.h"
#include "base/hash.h"

namespace shoal {
namespace {

constexpr std::uint32_t kMagic = 0x4C4F'4853;  // "SHOL"
constexpr std::size_t kChecksumAt = 56;

template <class T>
void put(HeaderBytes& bytes, std::size_t at, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i)
    bytes[at + i] = static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * i));
}

template <class T>
T get(std::span<const std::byte> bytes, std::size_t at) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    value |= static_cast<std::uint64_t>(bytes[at + i]) << (8 * i);
  return static_cast<T>(value);
}

template <class... Args>
[[noreturn]] void corrupt(NodeId peer, fmt::format_string<Args...> format, Args&&... args) {
  throw Corrupt(fmt::format("message from node {}: {}", peer,
                            fmt::format(format, std::forward<Args>(args)...)));
}

}  // namespace

std::string describe(const Tag& tag) {
  return fmt::format("group {} generation {} id {:#x}", tag.group, tag.generation, tag.id);
}

HeaderBytes encode_header(const Header& h) {
  HeaderBytes bytes{};
  put(bytes, 0, kMagic);
  put(bytes, 4, kProtocolVersion);
  put(bytes, 6, h.tag.group.value());
  put(bytes, 8, h.source.value());
  put(bytes, 12, h.incarnation.value());
  put(bytes, 16, h.tag.generation.value());
  put(bytes, 20, h.target.value());
  put(bytes, 24, h.target_incarnation.value());
  put(bytes, 32, h.sequence);
  put(bytes, 40, h.tag.id);
  put(bytes, 48, h.size.value());
  put(bytes, kChecksumAt, hash_of(std::span<const std::byte>(bytes).first(kChecksumAt)));
  return bytes;
}

Header decode_header(std::span<const std::byte> bytes, NodeId peer) {
  if (bytes.size() < kHeaderSize)
    corrupt(peer, "{} bytes are too few for a header of {}", bytes.size(), kHeaderSize);
  const auto magic = get<std::uint32_t>(bytes, 0);
  if (magic != kMagic)
    corrupt(peer, "magic {:#010x} is not {:#010x}; is something else connected to our port?", magic,
            kMagic);
  // Before the checksum: another version may checksum differently.
  const auto version = get<std::uint16_t>(bytes, 4);
  if (version != kProtocolVersion)
    corrupt(peer, "it speaks protocol version {}, we speak {}; run the same build everywhere",
            version, kProtocolVersion);
  const auto checksum = get<std::uint64_t>(bytes, kChecksumAt);
  const std::uint64_t expected = hash_of(bytes.first(kChecksumAt));
  if (checksum != expected)
    corrupt(peer, "header checksum {:#018x} is not {:#018x}", checksum, expected);

  Header h;
  h.tag.group = GroupId(get<std::uint16_t>(bytes, 6));
  h.source = NodeId(get<std::uint32_t>(bytes, 8));
  h.incarnation = Incarnation(get<std::uint32_t>(bytes, 12));
  h.tag.generation = Generation(get<std::uint32_t>(bytes, 16));
  h.target = NodeId(get<std::uint32_t>(bytes, 20));
  h.target_incarnation = Incarnation(get<std::uint32_t>(bytes, 24));
  h.sequence = get<std::uint64_t>(bytes, 32);
  h.tag.id = get<std::uint64_t>(bytes, 40);
  h.size = Bytes(get<std::uint64_t>(bytes, 48));
  if (get<std::uint32_t>(bytes, 28) != 0)
    corrupt(peer, "flags {:#x} are not of version {}", get<std::uint32_t>(bytes, 28), version);
  if (h.size > kMessageSizeMax)
    corrupt(peer, "a payload of {} bytes is more than the {} allowed", h.size, kMessageSizeMax);
  return h;
}

}  // namespace shoal
