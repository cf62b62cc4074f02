#include "base/stream_copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace shoal {
namespace {

TEST(StreamCopy, CopiesEverySizeFromAndToEveryAlignmentAndNothingElse) {
  std::vector<std::byte> from(100'000);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 31 + i / 256);
  for (const std::size_t size : {0UL, 1UL, 63UL, 64UL, 16'383UL, 16'384UL, 16'447UL, 50'001UL}) {
    for (const std::size_t skip : {0UL, 1UL, 15UL, 63UL}) {
      std::vector<std::byte> to(100'000, std::byte{7});
      stream_copy(to.data() + skip, from.data() + 3, size);
      std::vector<std::byte> expected(100'000, std::byte{7});
      std::copy_n(from.begin() + 3, size, expected.begin() + static_cast<std::ptrdiff_t>(skip));
      EXPECT_TRUE(to == expected) << size << " bytes to " << skip;
    }
  }
}

}  // namespace
}  // namespace shoal
