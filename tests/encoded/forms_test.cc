// Every form of an encoded sum, for any number of members, in every world: the exact sum if the
// encoding is lossless, the same bits everywhere, and sent plus kept values if it is lossy.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>

#include "base/hash.h"
#include "collective/worlds.h"
#include "encoded/all_reduce.h"
#include "encoded/gradients.h"

namespace shoal {
namespace {

constexpr std::uint64_t kFormElements = 2'000;
constexpr EncodedForm kForms[] = {EncodedForm::Gather, EncodedForm::Direct,
                                  EncodedForm::Ring,   EncodedForm::HalvingDoubling,
                                  EncodedForm::Sparse, EncodedForm::Kylix};

struct Case {
  EncodedForm form;
  WorldKind world;
};

class EncodedSum : public testing::TestWithParam<Case> {};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const EncodedForm form : kForms)
    for (const WorldKind world : kWorldKinds) all.push_back({form, world});
  return all;
}

std::string name_of(const testing::TestParamInfo<Case>& info) {
  std::string name(to_string(info.param.form));
  std::erase(name, '-');
  return name + "In" + to_string(info.param.world);
}

INSTANTIATE_TEST_SUITE_P(Worlds, EncodedSum, testing::ValuesIn(cases()), name_of);

// The program of a member: steps that sum gradients, half of them as their pieces become ready.
struct Member {
  Member(Node& node, const Encoding& encoding, std::uint64_t n = kFormElements)
      : encoder(node.endpoint, {encoding, Seed(3)}, uneven_pieces(n), Substance::Real),
        g(node.endpoint, Elements(n), Substance::Real) {}

  Task<void> step(const Group& group, EncodedForm form, std::uint64_t t) {
    encoder.begin(Step(t), 0, group.rank);
    encoder.prepare_to_take();
    const std::vector<float> own = gradient_of(group.rank.value(), t, g.size().value());
    std::ranges::copy(own, g.all().data().begin());
    if (t % 2 == 1 && encodes_whole(form))
      for (const Cut& cut : uneven_pieces(g.size().value()))
        encoder.take(cut.at, cut_of(g.all(), cut).data());
    co_await encoded_all_reduce(form, group, encoder, g.all(), t);
  }

  Encoder encoder;
  Arena g;
};

TEST_P(EncodedSum, IsTheSumWhereNothingIsLeftOut) {
  const auto [form, kind] = GetParam();
  for (const std::uint32_t P : {1U, 2U, 3U, 5U, 8U}) {
    std::atomic<std::uint32_t> right = 0;
    run_in(kind, P, [&, form = form](Node& node) -> Task<> {
      const Group group = group_of(node);
      Member member(node, Encoding{});
      for (std::uint64_t t = 1; t <= 2; ++t) {
        co_await member.step(group, form, t);
        std::vector<double> sum(kFormElements, 0);
        for (std::uint64_t r = 0; r < P; ++r) {
          const std::vector<float> g = gradient_of(r, t, kFormElements);
          for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<double>(g[i]);
        }
        const std::span<float> x = member.g.all().data();
        for (std::size_t i = 0; i < sum.size(); ++i)
          EXPECT_NEAR(x[i], sum[i], 1e-5 * P) << "P=" << P << " at " << i;
      }
      ++right;
    });
    EXPECT_EQ(right, P);
  }
}

// Sent plus kept values are complete: over ten steps, the sums that all received and the residuals
// that are left add up to all gradients.
TEST_P(EncodedSum, LosesNothingAndHasTheSameBitsEverywhere) {
  const auto [form, kind] = GetParam();
  for (const char* text : {"topk:0.05+ef", "onebit+ef"}) {
    const Encoding encoding = parse_encoding(text);
    if (form == EncodedForm::Sparse && !traits(encoding).lists) continue;
    for (const std::uint32_t P : {2U, 3U, 8U}) {
      std::mutex mutex;
      std::set<std::uint64_t> hashes;
      std::vector<double> kept(kFormElements, 0), sent(kFormElements, 0), all(kFormElements, 0);
      run_in(kind, P, [&, form = form](Node& node) -> Task<> {
        const Group group = group_of(node);
        Member member(node, encoding);
        std::vector<double> mine(kFormElements, 0);
        Hash hash;
        for (std::uint64_t t = 1; t <= 10; ++t) {
          co_await member.step(group, form, t);
          member.encoder.commit();
          const std::span<const float> x = member.g.all().data();
          hash.add(hash_of(x));
          for (std::size_t i = 0; i < mine.size(); ++i) mine[i] += static_cast<double>(x[i]);
        }
        const std::lock_guard lock(mutex);
        hashes.insert(hash.value());
        if (group.rank == Rank(0)) sent = mine;
        const std::span<const float> e = member.encoder.residual().data();
        for (std::size_t i = 0; i < e.size(); ++i) kept[i] += static_cast<double>(e[i]);
        for (std::uint64_t t = 1; t <= 10; ++t) {
          const std::vector<float> g = gradient_of(group.rank.value(), t, kFormElements);
          for (std::size_t i = 0; i < g.size(); ++i) all[i] += static_cast<double>(g[i]);
        }
      });
      EXPECT_EQ(hashes.size(), 1U) << text << " P=" << P;
      double waits = 0;
      for (std::size_t i = 0; i < all.size(); ++i) {
        // Ten sums of up to P numbers below 100 each, rounded to 24 bits.
        EXPECT_NEAR(sent[i] + kept[i], all[i], 2e-3) << text << " P=" << P << " at " << i;
        waits += std::abs(kept[i]);
      }
      EXPECT_GT(waits, 0) << text;  // otherwise nothing was left out
    }
  }
}

TEST(EncodedForms, CostTheirBytes) {
  // fp16, P = 4, N elements: gather 3 x 2N; the others 2 x 3/4 x 2N.
  for (const EncodedForm form : kForms) {
    if (form == EncodedForm::Sparse || form == EncodedForm::Kylix) continue;  // kylix_test.cc
    std::mutex mutex;
    std::uint64_t most = 0;
    constexpr std::uint64_t kN = 1 << 16;
    run_in(WorldKind::Ideal, 4, [&](Node& node) -> Task<> {
      const Group group = group_of(node);
      Member member(node, parse_encoding("fp16"), kN);
      co_await member.step(group, form, 2);
      const std::lock_guard lock(mutex);
      most = std::max(most, node.endpoint.sent().value());
    });
    const double expected = form == EncodedForm::Gather ? 3.0 * 2 * kN : 2 * 0.75 * 2 * kN;
    EXPECT_NEAR(static_cast<double>(most), expected, 0.02 * expected) << to_string(form);
  }
}

}  // namespace
}  // namespace shoal
