// Lists with persistent indices: bit for bit the same sum as lists, sending only values.
#include "encoded/kylix.h"

#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <mutex>
#include <set>

#include "base/error.h"
#include "base/hash.h"
#include "collective/worlds.h"
#include "encoded/all_reduce.h"
#include "encoded/gradients.h"
#include "support/sample.h"

namespace shoal {
namespace {

constexpr std::uint64_t kHead = 16;
constexpr std::uint64_t kEvery = 10;  // one element in so many is not zero

// A worker's gradient with the same indices in all steps of a version; `shared`: worker 0's indices
// for all.
std::vector<float> listed_gradient(std::uint64_t worker, std::uint64_t step, std::uint64_t n,
                                   std::uint64_t version, bool shared = false) {
  std::vector<float> g = gradient_of(worker, step, n);
  for (std::uint64_t i = 0; i < n; ++i)
    if ((i + (shared ? 0 : worker) + version) % kEvery != 0) g[i] = 0;
  return g;
}

struct Lister {
  Lister(Node& node, std::uint64_t n, const Encoding& encoding = {})
      : encoder(node.endpoint, {encoding, Seed(3)}, uneven_pieces(n), Substance::Real),
        g(node.endpoint, Elements(n), Substance::Real) {}

  Task<void> step(const Group& group, EncodedForm form, std::uint64_t t, std::span<const float> own,
                  std::uint64_t operation) {
    encoder.begin(Step(t), 0, group.rank);
    std::ranges::copy(own, g.all().data().begin());
    co_await encoded_all_reduce(form, group, encoder, g.all(), operation);
    encoder.commit();
  }
  std::uint64_t hash() { return hash_of(std::span<const float>(g.all().data())); }

  Encoder encoder;
  Arena g;
};

// The bytes that each member sent in each step, by rank. `version`: of a member and step.
using Versions = std::function<std::uint64_t(std::uint64_t, std::uint64_t)>;
std::vector<std::vector<std::uint64_t>> bytes_of(std::uint32_t P, std::uint64_t n,
                                                 std::uint64_t steps, const Versions& version,
                                                 bool shared) {
  std::vector<std::vector<std::uint64_t>> all(P);
  run_in(WorldKind::Ideal, P, [&](Node& node) -> Task<> {
    const Group group = group_of(node);
    Lister lister(node, n);
    std::uint64_t before = 0;
    for (std::uint64_t t = 1; t <= steps; ++t) {
      const std::uint64_t r = group.rank.value();
      const std::vector<float> own = listed_gradient(r, t, n, version(r, t), shared);
      co_await lister.step(group, EncodedForm::Kylix, t, own, t);
      const std::uint64_t now = node.endpoint.sent().value();
      all[r].push_back(now - before);
      before = now;
      std::vector<float> sum(n, 0.0F);
      for (std::uint64_t w = 0; w < P; ++w) {
        const std::vector<float> g = listed_gradient(w, t, n, version(w, t), shared);
        for (std::size_t i = 0; i < n; ++i) sum[i] += g[i];
      }
      for (std::size_t i = 0; i < n; ++i)
        EXPECT_NEAR(lister.g.all().data()[i], sum[i], 1e-5) << "t=" << t << " at " << i;
    }
  });
  return all;
}

std::uint64_t sum_of(const std::vector<std::vector<std::uint64_t>>& bytes, std::size_t step) {
  std::uint64_t sum = 0;
  for (const std::vector<std::uint64_t>& of_member : bytes) sum += of_member[step];
  return sum;
}

class KylixSum : public testing::TestWithParam<WorldKind> {};
INSTANTIATE_TEST_SUITE_P(Worlds, KylixSum, testing::ValuesIn(kWorldKinds),
                         [](const auto& world) { return to_string(world.param); });

// Indices change at one member, then at another, and back: the sums equal those of lists.
TEST_P(KylixSum, EqualsThatOfSparseBitForBit) {
  Sample sample;
  for (std::uint32_t P = 1; P <= 8; ++P)
    for (const std::uint64_t n : {100U, 2'000U, 20'000U, 40'000U}) {
      if (n > 2'000 && P != 8 && P != 5) continue;
      if (!sample.takes_next()) continue;
      std::mutex mutex;
      std::set<std::uint64_t> hashes;
      std::atomic<std::uint32_t> alike = 0;
      run_in(GetParam(), P, [&](Node& node) -> Task<> {
        const Group group = group_of(node);
        Lister kylix(node, n), sparse(node, n);
        Hash hash;
        for (std::uint64_t t = 1; t <= 6; ++t) {
          const std::uint64_t r = group.rank.value();
          const std::uint64_t version = t == 3 && r == P - 1 ? 4 : t >= 5 && r == 0 ? 7 : 0;
          const std::vector<float> own = listed_gradient(r, t, n, version);
          co_await kylix.step(group, EncodedForm::Kylix, t, own, 2 * t);
          co_await sparse.step(group, EncodedForm::Sparse, t, own, 2 * t + 1);
          EXPECT_EQ(kylix.hash(), sparse.hash()) << "P=" << P << " n=" << n << " t=" << t;
          hash.add(kylix.hash());
        }
        const std::lock_guard lock(mutex);
        hashes.insert(hash.value());
        ++alike;
      });
      EXPECT_EQ(alike, P);
      EXPECT_EQ(hashes.size(), 1U) << P;
    }
}

TEST_P(KylixSum, OfWhatCodecsChooseEqualsThatOfSparse) {
  for (const char* const text : {"topk:0.05+ef", "randomk:0.1:3+ef", "dgc:0.01"})
    for (const std::uint32_t P : {2U, 3U, 6U}) {
      std::atomic<std::uint32_t> alike = 0;
      run_in(GetParam(), P, [&](Node& node) -> Task<> {
        const Group group = group_of(node);
        const Encoding encoding = parse_encoding(text);
        Lister kylix(node, 2'000, encoding), sparse(node, 2'000, encoding);
        for (std::uint64_t t = 1; t <= 8; ++t) {
          const std::vector<float> own = gradient_of(group.rank.value(), t, 2'000);
          co_await kylix.step(group, EncodedForm::Kylix, t, own, 2 * t);
          co_await sparse.step(group, EncodedForm::Sparse, t, own, 2 * t + 1);
          EXPECT_EQ(kylix.hash(), sparse.hash()) << text << " P=" << P << " t=" << t;
        }
        ++alike;
      });
      EXPECT_EQ(alike, P);
    }
}

TEST(Kylix, SendsValuesAloneWhilePlacesPersist) {
  // Degrees of 2, 2, 2; of 4 and 2; of 8. All have the same indices, so that every list has the
  // same length: the bytes follow the formula of the header.
  for (const std::uint64_t n : {2'000U, 20'000U, 40'000U}) {
    const std::uint64_t k = n / kEvery;
    std::uint64_t messages = 0;
    for (const std::uint64_t d : kylix_degrees(8, Elements(n), 0.5)) messages += 2 * (d - 1);
    const auto bytes = bytes_of(
        8, n, 3, [](std::uint64_t, std::uint64_t) { return 0; }, true);
    const std::uint64_t values = 2 * 7 * 4 * k;  // of all eight: 8 x 2 (P-1)/P v k
    EXPECT_EQ(sum_of(bytes, 1), values + 8 * messages * kHead) << n;
    EXPECT_EQ(sum_of(bytes, 2), sum_of(bytes, 1)) << n;
    // Once also the indices: with one in ten, a bitmap of the part is shorter than 32-bit indices.
    const std::uint64_t places = 2 * 7 * n / 8;
    EXPECT_GE(sum_of(bytes, 0), sum_of(bytes, 1) + places) << n;
    EXPECT_LE(sum_of(bytes, 0), sum_of(bytes, 1) + places + 8 * messages * 4) << n;
  }
}

TEST(Kylix, OwnPlacesOfEachCostTheirUnionOnTheWayUp) {
  constexpr std::uint64_t kN = 2'000, kP = 4;
  const auto bytes = bytes_of(
      kP, kN, 2, [](std::uint64_t, std::uint64_t) { return 0; }, false);
  // Down: half of k, and half of twice as many in half the range; up: 3/4 of P k.
  const std::uint64_t k = kN / kEvery;
  const std::uint64_t down = 4 * (k / 2 + k / 2), up = 4 * 3 * k;
  EXPECT_EQ(sum_of(bytes, 1), kP * (down + up + 4 * kHead));
}

TEST(Kylix, NoticesAChangeOfAnySingleMember) {
  constexpr std::uint64_t kN = 2'000, kSteps = 5;
  for (const std::uint32_t P : {2U, 5U, 8U})
    for (std::uint64_t who = 0; who < P; ++who) {
      // bytes_of checks that every sum is right.
      const auto bytes = bytes_of(
          P, kN, kSteps,
          [&](std::uint64_t r, std::uint64_t t) { return r == who && t >= 3 ? 1U : 0U; }, true);
      EXPECT_LT(sum_of(bytes, 1), sum_of(bytes, 0));
      EXPECT_GT(sum_of(bytes, 2), sum_of(bytes, 3)) << who << " of " << P;
      // From then on the sum has twice as many indices; they are remembered, too.
      EXPECT_EQ(sum_of(bytes, 4), sum_of(bytes, 3)) << who << " of " << P;
      EXPECT_GT(sum_of(bytes, 3), sum_of(bytes, 1)) << who << " of " << P;
    }
}

TEST(Kylix, KeepsPlacesThatAreZeroForOnce) {
  KylixPattern remembered;
  std::vector<float> g = listed_gradient(0, 1, 100, 0);
  const KylixList first = kylix_list(g, remembered);
  EXPECT_EQ(first.value.size(), 10U);
  g[10] = g[20] = 0;
  const KylixList fewer = kylix_list(g, remembered);
  EXPECT_EQ(fewer.pattern, first.pattern);
  EXPECT_EQ(fewer.value[1], 0.0F);
  for (std::size_t i = 0; i < 60; ++i) g[i] = 0;
  const KylixList few = kylix_list(g, remembered);
  EXPECT_EQ(few.value.size(), 4U);
  g[1] = 1;  // somewhere else
  EXPECT_EQ(kylix_list(g, remembered).value.size(), 5U);
}

TEST(Kylix, DegreesFallAsMessagesGetSmaller) {
  using Degrees = std::vector<std::uint64_t>;
  EXPECT_EQ(kylix_degrees(1, Elements(1'000), 0.5), Degrees{});
  EXPECT_EQ(kylix_degrees(8, Elements(2'000), 0.5), (Degrees{2, 2, 2}));
  EXPECT_EQ(kylix_degrees(8, Elements(20'000), 0.5), (Degrees{4, 2}));
  EXPECT_EQ(kylix_degrees(8, Elements(40'000), 0.5), (Degrees{8}));
  EXPECT_EQ(kylix_degrees(8, Elements(0), 0.5), (Degrees{2, 2, 2}));
  EXPECT_EQ(kylix_degrees(64, Elements(500'000), 0.1), (Degrees{16, 4}));
}

TEST(Kylix, ForgetsWithTheViewAndWithTheCutOfRanges) {
  run_in(WorldKind::Ideal, 2, [&](Node& node) -> Task<> {
    const Group group = group_of(node);
    KylixMemories memories;
    const Cut low{Elements(0), Elements(10)}, high{Elements(10), Elements(10)};
    memories.of(group, low, {2}).configured = true;
    memories.of(group, high, {2}).configured = true;
    EXPECT_EQ(memories.size(), 2U);
    EXPECT_TRUE(memories.of(group, low, {2}).configured);
    EXPECT_FALSE(memories.of(group, {Elements(5), Elements(6)}, {2}).configured);
    EXPECT_EQ(memories.size(), 1U);
    memories.of(group, low, {2}).configured = true;
    auto next = std::make_shared<View>(*group.view);
    next->generation = Generation(next->generation.value() + 1);
    const Group later(node, group.id, next);
    EXPECT_FALSE(memories.of(later, low, {2}).configured);
    EXPECT_EQ(memories.size(), 1U);
    co_return;
  });
}

std::vector<std::byte> message_of(const KylixList& list, KylixPart part, bool places) {
  std::vector<std::byte> bytes(kylix_size(list.value.size(), part, places).value());
  write_kylix(list.value, *list.pattern, part, places, {bytes.data(), Bytes(bytes.size())});
  return bytes;
}

TEST(Kylix, AMessageOfSomethingElseIsCorrupt) {
  constexpr KylixPart kPart{100, 200};
  for (const std::uint64_t every : {1U, 3U, 50U}) {  // all indices, a bitmap, a list
    KylixPattern of_sender;
    KylixList list;
    std::vector<std::uint32_t> at;
    for (std::uint32_t i = kPart.begin; i < kPart.end; i += every) at.push_back(i);
    list.pattern = remember(of_sender, at);
    list.value.assign(at.size(), 1.5F);
    const std::vector<std::byte> good = message_of(list, kPart, true);
    const std::vector<std::byte> values = message_of(list, kPart, false);
    const auto read = [&](const std::vector<std::byte>& bytes, KylixPattern remembered) {
      return read_kylix({bytes.data(), Bytes(bytes.size())}, kPart, remembered);
    };
    EXPECT_EQ(read(good, nullptr).pattern->at, at);
    EXPECT_EQ(read(values, list.pattern).value, list.value);
    // Values alone, while no indices or other indices are remembered.
    EXPECT_THROW(read(values, nullptr), Corrupt);
    KylixPattern other;
    remember(other, std::vector<std::uint32_t>(at.size(), 100));
    EXPECT_THROW(read(values, other), Corrupt);
    for (std::size_t size = 0; size < good.size(); ++size)
      EXPECT_THROW(read({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)}, nullptr),
                   Corrupt)
          << size;
    // Each byte inverted: an error that tells so, or other values at the same indices.
    for (std::size_t i = 0; i < good.size(); ++i) {
      std::vector<std::byte> wrong = good;
      wrong[i] ^= std::byte{0xff};
      const bool is_value = i >= kHead && i < kHead + 4 * at.size();
      try {
        EXPECT_EQ(read(wrong, nullptr).pattern->at, at) << i;
        EXPECT_TRUE(is_value) << i;
      } catch (const Corrupt&) {
        EXPECT_FALSE(is_value) << i;
      }
    }
  }
}

TEST(Kylix, AMalformedMessageNamesItsSender) {
  std::string error;
  run_in(WorldKind::Ideal, 2, [&](Node& node) -> Task<> {
    const Group group = group_of(node);
    constexpr std::uint64_t kN = 100, kFirstLayer = 2;
    if (group.rank == Rank(1)) {
      // Values alone, for indices that were never sent.
      KylixPattern pattern;
      const KylixList list{remember(pattern, std::vector<std::uint32_t>{3, 7}), {1, 2}};
      const std::vector<std::byte> bytes = message_of(list, {0, 50}, false);
      const ConstBuf message{bytes.data(), Bytes(bytes.size())};
      co_await node.endpoint.send(group.at(0), group.tag(1, kFirstLayer), message);
      co_return;
    }
    Lister lister(node, kN);
    const std::vector<float> own = listed_gradient(0, 1, kN, 0);
    try {
      co_await lister.step(group, EncodedForm::Kylix, 1, own, 1);
    } catch (const Corrupt& corrupt) {
      error = corrupt.what();
    }
  });
  EXPECT_NE(error.find("node 1 sent"), std::string::npos) << error;
  EXPECT_NE(error.find("not the remembered ones"), std::string::npos) << error;
}

// A random choice of elements that is kept for three steps.
TEST(Kylix, RandomChoicesThatAreHeldSendTheirPlacesOnce) {
  constexpr std::uint64_t kN = 4'000;
  std::vector<std::uint64_t> bytes;
  run_in(WorldKind::Ideal, 4, [&](Node& node) -> Task<> {
    const Group group = group_of(node);
    Lister lister(node, kN, parse_encoding("randomk:0.1:3+ef"));
    std::uint64_t before = 0;
    for (std::uint64_t t = 3; t < 9; ++t) {
      const std::vector<float> own = gradient_of(group.rank.value(), t, kN);
      co_await lister.step(group, EncodedForm::Kylix, t, own, t);
      const std::uint64_t now = node.endpoint.sent().value();
      if (group.rank == Rank(0)) bytes.push_back(now - before);
      before = now;
    }
  });
  ASSERT_EQ(bytes.size(), 6U);
  EXPECT_EQ(bytes[1], bytes[2]);
  EXPECT_LT(bytes[1], bytes[0]);
  EXPECT_GT(bytes[3], bytes[2]);
  EXPECT_EQ(bytes[4], bytes[5]);
  EXPECT_LT(bytes[4], bytes[3]);
}

}  // namespace
}  // namespace shoal
