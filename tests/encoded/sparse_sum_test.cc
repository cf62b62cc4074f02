// Sums of lists are exact, and become full ranges where these are shorter.
#include <gtest/gtest.h>

#include "base/error.h"
#include "encoded/gradients.h"
#include "encoded/sparse.h"

namespace shoal {
namespace {

std::vector<float> sparse_gradient(std::uint64_t worker, std::size_t n, std::size_t every) {
  std::vector<float> g = gradient_of(worker, 0, n);
  for (std::size_t i = 0; i < n; ++i)
    if ((i + worker) % every != 0) g[i] = 0;
  return g;
}

std::vector<std::byte> message_of(const SparseSum& sum) {
  std::vector<std::byte> bytes(sum.size().value());
  sum.write(MutBuf{bytes.data(), Bytes(bytes.size())});
  return bytes;
}

void add(SparseSum& sum, const std::vector<std::byte>& message) {
  sum.add({message.data(), Bytes(message.size())});
}

TEST(SparseSum, IsExactAndBecomesAFullRangeWhereThatIsShorter) {
  constexpr std::size_t kN = 1'000;
  SparseSum sum{Elements(kN)};
  std::vector<float> oracle(kN, 0.0F);
  bool was_sparse = false;
  for (std::uint64_t worker = 0; worker < 8; ++worker) {
    const std::vector<float> g = sparse_gradient(worker, kN, 10);
    SparseSum one{Elements(kN)};
    one.take(g);
    EXPECT_FALSE(one.dense());
    EXPECT_EQ(one.size().value(), 4 + 8 * kN / 10);
    add(sum, message_of(one));
    for (std::size_t i = 0; i < kN; ++i) oracle[i] += g[i];
    std::vector<float> now(kN);
    sum.write(now);
    EXPECT_EQ(now, oracle);
    was_sparse = was_sparse || !sum.dense();
    // A list of more than N v/(v+c) = N/2 values is longer than the range.
    EXPECT_EQ(sum.dense(), worker + 1 >= 5) << worker;
  }
  EXPECT_TRUE(was_sparse);
  EXPECT_EQ(sum.size().value(), 4 + 4 * kN);
}

TEST(SparseSum, RefusesWhatIsNoneOfItsSize) {
  constexpr std::size_t kN = 100;
  SparseSum one{Elements(kN)};
  one.take(sparse_gradient(0, kN, 10));
  const std::vector<std::byte> good = message_of(one);
  const auto refused = [&](std::vector<std::byte> bytes) {
    SparseSum sum{Elements(kN)};
    EXPECT_THROW(add(sum, bytes), Corrupt);
  };
  refused({});
  refused({good.begin(), good.end() - 4});
  std::vector<std::byte> wrong = good;
  wrong[4] = std::byte{200};  // an index beyond the range
  refused(wrong);
  wrong = good;
  std::swap(wrong[4], wrong[8]);  // not in order
  refused(wrong);
  wrong = good;
  wrong[0] = wrong[1] = wrong[2] = wrong[3] = std::byte{0xff};  // claims to be a full range
  refused(wrong);
}

}  // namespace
}  // namespace shoal
