// Low-rank factors are summed; the residual keeps the rest.
#include "encoded/low_rank.h"

#include <gtest/gtest.h>

#include <mutex>
#include <set>

#include "base/hash.h"
#include "collective/worlds.h"
#include "encoded/gradients.h"

namespace shoal {
namespace {

// A matrix of 40 x 30, a bias, a kernel of 8 x 3 x 5 x 5 and another bias.
Layout two_layers() {
  return Layout({{.name = "a.weight", .shape = {40, 30}, .strides = {30, 1}},
                 {.name = "a.bias", .shape = {40}, .strides = {1}},
                 {.name = "b.weight", .shape = {8, 3, 5, 5}, .strides = {75, 25, 5, 1}},
                 {.name = "b.bias", .shape = {8}, .strides = {1}}});
}

struct Sums {
  std::vector<double> sent, kept, all;
  std::set<std::uint64_t> hashes;
};

Sums train(std::uint32_t P, const char* encoding, std::uint64_t steps) {
  const Layout layout = two_layers();
  const std::uint64_t n = layout.parameters().value();
  Sums sums{std::vector<double>(n, 0), std::vector<double>(n, 0), std::vector<double>(n, 0), {}};
  std::mutex mutex;
  run_in(WorldKind::Seeded, P, [&](Node& node) -> Task<> {
    const Group group = group_of(node);
    LowRankSums low_rank(node.endpoint, parse_encoding(encoding), Seed(3), layout, Substance::Real);
    Arena g(node.endpoint, layout.parameters(), Substance::Real);
    low_rank.begin_view(Generation(1));
    std::vector<double> sent(n, 0), all(n, 0);
    Hash hash;
    for (std::uint64_t t = 1; t <= steps; ++t) {
      low_rank.begin();
      const std::vector<float> own = gradient_of(group.rank.value(), t, n);
      std::ranges::copy(own, g.all().data().begin());
      // Two buckets, last layer first.
      const Elements cut = layout.tensors()[2].at;
      const Range last = g.range(cut, g.size() - cut);
      co_await low_rank.all_reduce(Exchange::Ring, group, last, 4 * t);
      co_await low_rank.all_reduce(Exchange::Ring, group, g.range(Elements(0), cut), 4 * t + 2);
      low_rank.commit();
      for (std::size_t i = 0; i < n; ++i) {
        sent[i] += static_cast<double>(g.all().data()[i]);
        all[i] += static_cast<double>(own[i]);
      }
      hash.add(hash_of(std::span<const float>(g.all().data())));
    }
    const std::lock_guard lock(mutex);
    sums.hashes.insert(hash.value());
    if (group.rank == Rank(0)) sums.sent = sent;
    for (std::size_t i = 0; i < n; ++i) {
      sums.kept[i] += static_cast<double>(low_rank.residual().data()[i]);
      sums.all[i] += all[i];
    }
  });
  return sums;
}

TEST(LowRankSums, LoseNothingAndHaveTheSameBitsEverywhere) {
  for (const std::uint32_t P : {2U, 3U, 5U}) {
    const Sums sums = train(P, "powersgd:2", 8);
    EXPECT_EQ(sums.hashes.size(), 1U) << P;
    double waits = 0;
    for (std::size_t i = 0; i < sums.all.size(); ++i) {
      EXPECT_NEAR(sums.sent[i] + sums.kept[i], sums.all[i], 1e-3) << P << " at " << i;
      waits += std::abs(sums.kept[i]);
    }
    EXPECT_GT(waits, 0);
  }
}

TEST(LowRankSums, AreTheSumAtFullRank) {
  const Sums sums = train(3, "powersgd:30", 1);
  for (std::size_t i = 0; i < sums.all.size(); ++i) {
    EXPECT_NEAR(sums.sent[i], sums.all[i], 1e-3) << i;
    EXPECT_NEAR(sums.kept[i], 0, 1e-3) << i;
  }
}

}  // namespace
}  // namespace shoal
