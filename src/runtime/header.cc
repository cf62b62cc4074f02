#include "runtime/header.h"

#include <array>
#include <bit>
#include <cstring>

#include "base/error.h"

namespace shoal {
namespace {

constexpr std::uint32_t kMagic = 0x4C4F'4853;  // "SHOL"
constexpr std::size_t kChecksumAt = 56;

// Headers are built from words: bytes written one by one cannot be read eight at a time before they
// have reached the cache.
using Words = std::array<std::uint64_t, kHeaderSize / 8>;
static_assert(std::endian::native == std::endian::little);

template <class T>
void put(Words& words, std::size_t at, T value) {
  words[at / 8] |= static_cast<std::uint64_t>(value) << (8 * (at % 8));
}

template <class T>
T get(const Words& words, std::size_t at) {
  return static_cast<T>(words[at / 8] >> (8 * (at % 8)));
}

// A sum of bijections, a different one for each word, so every change of one word is detected. The
// processor computes all of them in parallel; a sequential hash would take longer than everything
// else done to a header.
std::uint64_t checksum_of(const Words& words) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < kChecksumAt / 8; ++i) {
    std::uint64_t x = words[i] + (i + 1) * 0x9E37'79B9'7F4A'7C15ULL;
    x = (x ^ x >> 32U) * 0xD6E8'FEB8'6659'FD93ULL;
    x = (x ^ x >> 32U) * 0xD6E8'FEB8'6659'FD93ULL;
    sum += x ^ x >> 32U;
  }
  return sum;
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

std::uint64_t header_checksum(const HeaderBytes& bytes) {
  return checksum_of(std::bit_cast<Words>(bytes));
}

HeaderBytes encode_header(const Header& h) {
  Words words{};
  put(words, 0, kMagic);
  put(words, 4, kProtocolVersion);
  put(words, 6, h.tag.group.value());
  put(words, 8, h.source.value());
  put(words, 12, h.incarnation.value());
  put(words, 16, h.tag.generation.value());
  put(words, 20, h.target.value());
  put(words, 24, h.target_incarnation.value());
  put(words, 32, h.sequence);
  put(words, 40, h.tag.id);
  put(words, 48, h.size.value());
  put(words, kChecksumAt, checksum_of(words));
  return std::bit_cast<HeaderBytes>(words);
}

Header decode_header(std::span<const std::byte> bytes, NodeId peer) {
  if (bytes.size() < kHeaderSize)
    corrupt(peer, "{} bytes are too short for a header of {}", bytes.size(), kHeaderSize);
  Words words;
  std::memcpy(words.data(), bytes.data(), kHeaderSize);
  const auto magic = get<std::uint32_t>(words, 0);
  if (magic != kMagic)
    corrupt(peer, "magic {:#010x} is not {:#010x}; is something else connected to our port?", magic,
            kMagic);
  // Before the checksum: another version may checksum differently.
  const auto version = get<std::uint16_t>(words, 4);
  if (version != kProtocolVersion)
    corrupt(peer, "it speaks protocol version {}, we speak {}; run the same build everywhere",
            version, kProtocolVersion);
  const auto checksum = get<std::uint64_t>(words, kChecksumAt);
  const std::uint64_t expected = checksum_of(words);
  if (checksum != expected)
    corrupt(peer, "header checksum {:#018x} is not {:#018x}", checksum, expected);

  Header h;
  h.tag.group = GroupId(get<std::uint16_t>(words, 6));
  h.source = NodeId(get<std::uint32_t>(words, 8));
  h.incarnation = Incarnation(get<std::uint32_t>(words, 12));
  h.tag.generation = Generation(get<std::uint32_t>(words, 16));
  h.target = NodeId(get<std::uint32_t>(words, 20));
  h.target_incarnation = Incarnation(get<std::uint32_t>(words, 24));
  h.sequence = get<std::uint64_t>(words, 32);
  h.tag.id = get<std::uint64_t>(words, 40);
  h.size = Bytes(get<std::uint64_t>(words, 48));
  if (get<std::uint32_t>(words, 28) != 0)
    corrupt(peer, "flags {:#x} do not exist in version {}", get<std::uint32_t>(words, 28), version);
  if (h.size > kMessageSizeMax)
    corrupt(peer, "a payload of {} bytes is more than the {} allowed", h.size, kMessageSizeMax);
  return h;
}

}  // namespace shoal
