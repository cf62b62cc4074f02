#include "runtime/header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/error.h"
#include "base/random.h"

namespace shoal {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

Header sample() {
  Header h;
  h.source = NodeId(3);
  h.incarnation = Incarnation(2);
  h.target = NodeId(1'000'000);
  h.target_incarnation = Incarnation(7);
  h.tag.group = GroupId(0xfffe);
  h.tag.generation = Generation(0x8000'0001);
  h.tag.id = 0x0123'4567'89AB'CDEF;
  h.sequence = 0xFEDC'BA98'7654'3210;
  h.size = Bytes(123'456'789'012);
  return h;
}

// The message of the Corrupt that decoding throws; fails the test for any other outcome.
std::string complaint(std::span<const std::byte> bytes) {
  try {
    decode_header(bytes, NodeId(42));
  } catch (const Corrupt& error) {
    return error.what();
  }
  return "accepted";
}

// Recomputes the checksum after a change, as a peer with a bug would.
void seal(HeaderBytes& bytes) {
  const std::uint64_t checksum = header_checksum(bytes);
  for (unsigned i = 0; i < 8; ++i) bytes[56 + i] = static_cast<std::byte>(checksum >> (8 * i));
}

TEST(Header, ComesBackAsItWent) {
  const Header h = sample();
  EXPECT_EQ(decode_header(encode_header(h), NodeId(3)), h);
  EXPECT_EQ(decode_header(encode_header(Header()), NodeId(0)), Header());
}

TEST(Header, EveryFieldComesBackAtItsLimits) {
  Random random(Seed(1), Purpose::Test);
  for (int i = 0; i < 2'000; ++i) {
    const auto u32 = [&] { return static_cast<std::uint32_t>(random.bits() >> random.below(64)); };
    Header h;
    h.source = NodeId(u32());
    h.incarnation = Incarnation(u32());
    h.target = NodeId(u32());
    h.target_incarnation = Incarnation(u32());
    h.tag.group = GroupId(static_cast<std::uint16_t>(u32()));
    h.tag.generation = Generation(u32());
    h.tag.id = random.bits() >> random.below(64);
    h.sequence = random.bits() >> random.below(64);
    h.size = Bytes(random.below(kMessageSizeMax.value() + 1));
    ASSERT_EQ(decode_header(encode_header(h), NodeId(0)), h);
  }
}

// The layout is the protocol: the test spells out its bytes, so that a change cannot go unnoticed.
TEST(Header, HasTheLayoutOfItsComment) {
  const HeaderBytes bytes = encode_header(sample());
  const std::vector<unsigned> expected = {
      0x53, 0x48, 0x4F, 0x4C, 0x02, 0x00, 0xFE, 0xFF, 0x03, 0x00, 0x00, 0x00, 0x02, 0x00,
      0x00, 0x00, 0x01, 0x00, 0x00, 0x80, 0x40, 0x42, 0x0F, 0x00, 0x07, 0x00, 0x00, 0x00,
      0x00, 0x00, 0x00, 0x00, 0x10, 0x32, 0x54, 0x76, 0x98, 0xBA, 0xDC, 0xFE, 0xEF, 0xCD,
      0xAB, 0x89, 0x67, 0x45, 0x23, 0x01, 0x14, 0x1A, 0x99, 0xBE, 0x1C, 0x00, 0x00, 0x00};
  ASSERT_EQ(expected.size(), 56U);
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(static_cast<unsigned>(bytes[i]), expected[i]) << "byte " << i;
}

TEST(Header, IsFollowedByWhateverComesNext) {
  const HeaderBytes bytes = encode_header(sample());
  std::vector<std::byte> message(bytes.begin(), bytes.end());
  message.resize(200, std::byte{0xAA});
  EXPECT_EQ(decode_header(message, NodeId(3)), sample());
}

TEST(Header, RefusesEverySingleFlippedBit) {
  HeaderBytes bytes = encode_header(sample());
  for (std::size_t bit = 0; bit < kHeaderSize * 8; ++bit) {
    const auto mask = static_cast<std::byte>(1U << (bit % 8));
    bytes[bit / 8] ^= mask;
    EXPECT_THAT(complaint(bytes), StartsWith("message from node 42: ")) << "bit " << bit;
    bytes[bit / 8] ^= mask;
  }
}

TEST(Header, RefusesEveryTruncation) {
  const HeaderBytes bytes = encode_header(sample());
  for (std::size_t size = 0; size < kHeaderSize; ++size) {
    EXPECT_EQ(complaint(std::span(bytes).first(size)),
              fmt::format("message from node 42: {} bytes are too short for a header of 64", size));
  }
}

TEST(Header, RefusesEveryOtherVersionByName) {
  for (unsigned version = 0; version <= 0xffff; ++version) {
    if (version == kProtocolVersion) continue;
    HeaderBytes bytes = encode_header(sample());
    bytes[4] = static_cast<std::byte>(version & 0xffU);
    bytes[5] = static_cast<std::byte>(version >> 8U);
    seal(bytes);
    const std::string expected = fmt::format(
        "message from node 42: it speaks protocol version {}, we speak 2; run the same build "
        "everywhere",
        version);
    ASSERT_TRUE(complaint(bytes) == expected) << version;
  }
}

TEST(Header, RefusesASizeThatCannotBeAlsoWhenTheChecksumIsRight) {
  Header h = sample();
  h.size = kMessageSizeMax;
  EXPECT_EQ(decode_header(encode_header(h), NodeId(0)).size, kMessageSizeMax);
  h.size = kMessageSizeMax + Bytes(1);
  EXPECT_EQ(complaint(encode_header(h)),
            "message from node 42: a payload of 1099511627777 bytes is more than the 1099511627776 "
            "allowed");
}

TEST(Header, RefusesFlagsOfTheFuture) {
  HeaderBytes bytes = encode_header(sample());
  bytes[29] = std::byte{0x10};
  seal(bytes);
  EXPECT_EQ(complaint(bytes), "message from node 42: flags 0x1000 do not exist in version 2");
}

TEST(Header, AStrangerIsAskedWhetherItMeantUs) {
  const std::string http =
      "GET / HTTP/1.1\r\nHost: example.org\r\nAccept: text/html,*/*\r\n\r\n....";
  EXPECT_THAT(complaint(std::as_bytes(std::span(http.data(), http.size()))),
              HasSubstr("is something else connected to our port?"));
}

// Of 64 random bytes, 1 in 2^112 has our magic, version and checksum.
TEST(Header, RefusesAHundredThousandRandomInputs) {
  Random random(Seed(2), Purpose::Test);
  for (int i = 0; i < 100'000; ++i) {
    std::array<std::byte, 96> bytes{};
    const std::size_t size = random.below(bytes.size() + 1);
    for (std::size_t at = 0; at < size; ++at) bytes[at] = static_cast<std::byte>(random.bits());
    // Half of them get past the first checks: our magic and our version.
    if (i % 2 == 0 && size >= 6) {
      const HeaderBytes real = encode_header(sample());
      std::copy_n(real.begin(), 6, bytes.begin());
    }
    ASSERT_TRUE(complaint(std::span(bytes).first(size)).starts_with("message from node 42: "));
  }
}

}  // namespace
}  // namespace shoal
