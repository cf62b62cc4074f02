#include "ps/partial_push.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>

#include "base/random.h"
#include "sim/world.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kParameters = 200;
constexpr double kEta = 0.5;

// A single worker that pushes to three shards; the test forms the gradient as servers do.
class PartialPushTest : public testing::Test {
 protected:
  using Vector = std::vector<float>;

  ParameterServerOptions ps;
  bool mean = false;
  const std::vector<ShardCut> cuts = cut_shards(Elements(kParameters), 3);
  Vector w = Vector(kParameters, 1.0F);

  void run(std::function<Task<void>(Node&, PartialPush&)> story) {
    Cluster cluster = Cluster::uniform(1, {.latency = 1us, .bytes_per_s = 1e9});
    World world(cluster, {.seed = Seed(1), .fixed_view = true});
    const Outcome outcome = world.run([&](Node& node) { return tell(node, story); });
    EXPECT_TRUE(outcome.finished) << outcome.waiting_for;
    for (const NodeError& error : outcome.errors) ADD_FAILURE() << error.what;
  }

  // Pushes g; returns the gradient that arrives.
  Task<Vector> push(PartialPush& parts, Vector g, std::uint64_t samples, std::uint64_t t) {
    Arena there(Elements(kParameters), Substance::Real);
    std::ranges::copy(g, there.all().data().begin());
    co_await parts.add(there.all(), samples);
    Vector arrived = co_await push_rest(parts, t, false);
    co_return arrived;
  }
  Task<Vector> push_rest(PartialPush& parts, std::uint64_t t, bool last) {
    Arena there(Elements(kParameters), Substance::Real);
    std::ranges::copy(w, there.all().data().begin());
    PartialPush::Now now;
    now.w = there.all();
    now.eta = kEta;
    now.t = t;
    now.last = last;
    co_await parts.choose(now);
    Vector arrived(kParameters, 0.0F);
    bytes = 0;
    for (std::uint32_t k = 0; k < cuts.size(); ++k) {
      const Range packed = parts.packed(k);
      bytes += packed.bytes().size.value();
      if (packed.n == Elements(0)) continue;
      std::vector<std::uint32_t> words(packed.n.value());
      std::memcpy(words.data(), packed.bytes().data, packed.bytes().size.value());
      const PushedPart part(cuts[k], words, keys[k]);
      EXPECT_TRUE(part.has_keys());
      const std::size_t n = cuts[k].n.value();
      part.form(0, n, std::span(arrived).subspan(cuts[k].at.value(), n));
    }
    co_return arrived;
  }
  static Vector waiting(PartialPush& parts) {
    Vector all;
    for (std::uint32_t k = 0; k < 3; ++k) {
      const std::span<float> some = parts.waiting(k).data();
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }
  // Numbers with few bits: their sums are exact.
  Vector draw() {
    Vector g(kParameters);
    for (float& x : g) {
      const auto bits = static_cast<std::int64_t>(random.below(2001)) - 1000;
      x = random.chance(0.2) ? 0.0F : static_cast<float>(bits) / 1024;
    }
    return g;
  }
  static std::size_t count(const Vector& g) {
    return static_cast<std::size_t>(std::ranges::count_if(g, [](float x) { return x != 0; }));
  }

  Random random{Seed(5), Purpose::Test};
  std::array<Keys, 3> keys;  // known to the servers
  std::uint64_t bytes = 0;   // of the last push

 private:
  Task<void> tell(Node& node, const std::function<Task<void>(Node&, PartialPush&)>& story) {
    PartialPush parts(node, ps, cuts, Substance::Real, mean);
    co_await story(node, parts);
  }
};

TEST_F(PartialPushTest, WhatWasSentAndWhatWaitsAreAllOfItBitForBit) {
  for (const char* const text :
       {"none", "significant:0.3", "significant:0", "magnitude:1e5:300", "fifo:1e5:300"})
    for (const bool compress : {false, true}) {
      ps.filter = parse_filter(text);
      ps.compress = compress;
      run([&](Node& node, PartialPush& parts) -> Task<void> {
        Vector all(kParameters, 0.0F), sent(kParameters, 0.0F);
        for (std::uint64_t t = 1; t <= 40; ++t) {
          const Vector g = draw();
          const Vector arrived = co_await push(parts, g, 4, t);
          const Vector left = waiting(parts);
          for (std::size_t i = 0; i < kParameters; ++i) {
            all[i] += g[i];
            sent[i] += arrived[i];
            EXPECT_EQ(sent[i] + left[i], all[i]) << text << ", push " << t << ", element " << i;
            w[i] = 1 + sent[i];
          }
          EXPECT_EQ(parts.holds_back(), count(left) > 0) << text;
          co_await node.env.sleep(1ms);
        }
        std::uint64_t t = 41;
        for (; parts.holds_back() && t < 200; ++t) {
          const Vector arrived = co_await push_rest(parts, t, true);
          EXPECT_GT(count(arrived), 0U) << text;
          for (std::size_t i = 0; i < kParameters; ++i) sent[i] += arrived[i];
        }
        EXPECT_EQ(sent, all) << text << ": at the end nothing waits";
      });
    }
}

TEST_F(PartialPushTest, WhatIsSignificantEqualsAnOraclesReplay) {
  const double v = 0.4;
  ps.filter = parse_filter("significant:0.4");
  mean = true;
  run([&](Node&, PartialPush& parts) -> Task<void> {
    Vector pending(kParameters, 0.0F);
    std::size_t sent = 0;
    for (std::uint64_t t = 1; t <= 60; ++t) {
      const Vector g = draw();
      Vector expected(kParameters, 0.0F);
      for (std::size_t i = 0; i < kParameters; ++i) {
        pending[i] += g[i];
        const double change = kEta * static_cast<double>(pending[i]) / 4;
        if (!(std::abs(change / static_cast<double>(w[i])) > v / std::sqrt(t))) continue;
        expected[i] = std::exchange(pending[i], 0.0F);
        ++sent;
      }
      const Vector arrived = co_await push(parts, g, 4, t);
      EXPECT_EQ(arrived, expected) << "push " << t;
      for (std::size_t i = 0; i < kParameters; ++i)
        w[i] -= static_cast<float>(kEta) * arrived[i] / 4;
    }
    EXPECT_GT(sent, 100U);
    EXPECT_LT(sent, 0.9 * 60 * kParameters) << "most of it waited for a while";
  });
}

TEST_F(PartialPushTest, OfABudgetTheLargestRelativeChangesGoFirst) {
  ps.filter = parse_filter("magnitude:1:288");  // three heads and 30 numbers
  for (std::size_t i = 0; i < kParameters; ++i) w[i] = static_cast<float>(1 + i % 7);
  run([&](Node&, PartialPush& parts) -> Task<void> {
    Vector g(kParameters);
    for (std::size_t i = 0; i < kParameters; ++i) g[i] = static_cast<float>((i * 37) % 101) - 50;
    const Vector arrived = co_await push(parts, g, 1, 1);
    EXPECT_EQ(count(arrived), 30U);
    EXPECT_LE(bytes, 288U);
    const Vector left = waiting(parts);
    float least = 1e9F, most = 0;
    for (std::size_t i = 0; i < kParameters; ++i) {
      if (arrived[i] != 0) least = std::min(least, std::abs(arrived[i]) / w[i]);
      most = std::max(most, std::abs(left[i]) / w[i]);
    }
    EXPECT_GE(least, most);
  });
}

TEST_F(PartialPushTest, InTurnEverythingGoesAfterAWhile) {
  ps.filter = parse_filter("fifo:1e6:288");
  run([&](Node& node, PartialPush& parts) -> Task<void> {
    std::vector<int> gone(kParameters, 0);
    for (std::uint64_t t = 1; t <= 14; ++t) {
      const Vector arrived = co_await push(parts, Vector(kParameters, 1.0F), 1, t);
      for (std::size_t i = 0; i < kParameters; ++i) gone[i] += arrived[i] != 0 ? 1 : 0;
      co_await node.env.sleep(1ms);
    }
    EXPECT_EQ(std::accumulate(gone.begin(), gone.end(), 0), 14 * 30);
    for (std::size_t i = 0; i < kParameters; ++i) EXPECT_NEAR(gone[i], 2, 1) << i;
  });
}

TEST_F(PartialPushTest, KeysThatAreTheSameAsBeforeAreNotSentAgain) {
  ps.filter = parse_filter("significant:0");
  run([&](Node&, PartialPush& parts) -> Task<void> {
    Vector sparse(kParameters, 0.0F);
    for (std::size_t i = 0; i < kParameters; i += 10) sparse[i] = 1;
    co_await push(parts, sparse, 1, 1);
    EXPECT_EQ(bytes, 3 * 16 + 20 * 8U);
    const Vector again = co_await push(parts, sparse, 1, 2);
    EXPECT_EQ(bytes, 3 * 16 + 20 * 4U);
    EXPECT_EQ(again, sparse);
    // A new server does not have them.
    keys = {};
    for (std::uint32_t k = 0; k < 3; ++k) {
      const Range packed = co_await parts.packed_with_keys(k);
      const std::span words(reinterpret_cast<const std::uint32_t*>(packed.bytes().data),
                            packed.n.value());
      EXPECT_TRUE(PushedPart(cuts[k], words, keys[k]).has_keys());
    }
    const Vector third = co_await push(parts, sparse, 1, 3);
    EXPECT_EQ(bytes, 3 * 16 + 20 * 4U);
    EXPECT_EQ(third, sparse);
  });
}

TEST_F(PartialPushTest, WhatWaitsCountsAsMuchInAPushOfFewerSamples) {
  ps.filter = parse_filter("significant:100");
  mean = true;
  run([&](Node&, PartialPush& parts) -> Task<void> {
    co_await push(parts, Vector(kParameters, 8.0F), 8, 1);  // 1 a sample
    EXPECT_TRUE(parts.holds_back());
    co_await push(parts, Vector(kParameters, 2.0F), 2, 2);  // 1 a sample
    EXPECT_EQ(waiting(parts), Vector(kParameters, 4.0F)) << "of 2 samples";
    EXPECT_EQ(parts.samples(), 2U);
  });
}

}  // namespace
}  // namespace shoal
