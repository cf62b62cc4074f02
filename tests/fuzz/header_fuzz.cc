// libFuzzer: decode_header accepts any input or throws Corrupt naming the peer; encode_header
// reproduces every accepted input. Built with clang only.
//
//   build/clang/tests/header_fuzz -max_total_time=60
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "runtime/header.h"

namespace {

using namespace shoal;

void require(bool condition) {
  if (!condition) std::abort();
}

void decode(std::span<const std::byte> bytes) {
  try {
    const Header header = decode_header(bytes, NodeId(42));
    const HeaderBytes again = encode_header(header);
    require(std::memcmp(again.data(), bytes.data(), kHeaderSize) == 0);
  } catch (const Corrupt& error) {
    require(std::string_view(error.what()).starts_with("message from node 42: "));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span input(reinterpret_cast<const std::byte*>(data), size);
  decode(input);
  // The same with a valid magic, version and checksum, so that the later fields are reached.
  if (size < kHeaderSize) return 0;
  std::vector<std::byte> sealed(input.begin(), input.end());
  const HeaderBytes right = encode_header(Header());
  std::memcpy(sealed.data(), right.data(), 6);
  HeaderBytes header;
  std::memcpy(header.data(), sealed.data(), kHeaderSize);
  const std::uint64_t checksum = header_checksum(header);
  for (unsigned i = 0; i < 8; ++i) sealed[56 + i] = static_cast<std::byte>(checksum >> (8 * i));
  decode(sealed);
  return 0;
}
