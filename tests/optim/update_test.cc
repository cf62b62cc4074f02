// Updates compared with the formulas, with libtorch's bits, and with the same update cut in other
// ways.
#include "optim/update.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <deque>
#include <limits>
#include <numeric>

#include "base/random.h"
#include "bench/optim_oracle.h"
#include "optim/loops.h"
#include "runtime/slices.h"
#include "support/inline_env.h"

namespace shoal {
namespace {

const std::vector<Segment> kTensors = {{Elements(0), Elements(40)},
                                       {Elements(40), Elements(7), false, false},
                                       {Elements(47), Elements(0)},
                                       {Elements(47), Elements(84)}};
constexpr std::size_t kN = 131;

// Parameters, gradient and state of one model.
struct Model {
  Model(const Rule& rule, std::size_t n, Substance substance = Substance::Real)
      : w(Elements(n), substance),
        g(Elements(n), substance),
        s(Elements(n * slots(rule)), substance) {}

  void draw(Seed seed) {
    Random random(seed, Purpose::Problem);
    for (float& x : w.all().data()) x = static_cast<float>(random.normal());
    for (float& x : g.all().data()) x = static_cast<float>(random.normal());
    for (float& x : s.all().data()) x = static_cast<float>(std::abs(random.normal()));
  }
  UpdateTarget all(std::span<const Segment> segments = {}) {
    return {w.all(), g.all(), s.all(), Elements(0), segments};
  }
  NaiveState naive() {
    NaiveState state;
    const std::span<const float> slot = s.all().data();
    const std::size_t n = w.size().value();
    for (std::size_t i = 0; i < n; ++i) {
      state.w.push_back(static_cast<double>(w.data()[i]));
      state.a.push_back(slot.size() > i ? static_cast<double>(slot[i]) : 0);
      state.b.push_back(slot.size() > n + i ? static_cast<double>(slot[n + i]) : 0);
    }
    return state;
  }

  Arena w, g, s;
};

std::vector<float> copy_of(Arena& arena) {
  return {arena.all().data().begin(), arena.all().data().end()};
}

// Every rule with its defaults, with decay, clipped, and with both.
std::vector<Rule> all_rules() {
  std::vector<Rule> rules;
  for (std::size_t i = 0; i < kRuleKinds; ++i)
    for (const double decay : {0.0, 0.05})
      for (const double clip : {0.0, 1.5}) {
        Rule rule = default_rule(static_cast<RuleKind>(i));
        rule.weight_decay = decay;
        rule.clip_norm = clip;
        rules.push_back(rule);
      }
  rules.push_back(default_rule(RuleKind::Rmsprop));
  rules.back().momentum = 0.9;
  return rules;
}

TEST(Update, GradientsThatLieApartAreAddedInTheirOrder) {
  InlineEnv env;
  constexpr std::size_t kLong = 5000;  // several blocks, and a partial one
  const UpdateStep step{.eta = 0.1, .t = 3, .samples = 12};
  for (const Rule& rule : all_rules())
    for (const std::size_t count : {1U, 2U, 3U, 8U}) {
      if (count > 1 && rounds(rule) > 0) continue;  // It needs the norm of the sum first.
      std::deque<Model> apart;
      std::vector<const float*> terms;
      Model model(rule, kLong), summed(rule, kLong);
      model.draw(Seed(9));
      summed.draw(Seed(9));
      std::ranges::fill(summed.g.all().data(), 0.0F);
      for (std::size_t k = 0; k < count; ++k) {
        Model& term = apart.emplace_back(rule, kLong);
        term.draw(Seed(k));
        for (std::size_t i = 0; i < kLong; ++i)
          summed.g.data()[i] = k == 0 ? term.g.data()[i] : summed.g.data()[i] + term.g.data()[i];
        terms.push_back(term.g.data());
      }
      Sums total;
      for (unsigned r = 0; r < rounds(rule); ++r)
        total += run(measure(env, rule, step, summed.all(), r, total));
      run(apply(env, rule, step, summed.all(), total));
      UpdateTarget shard = model.all();
      shard.terms = terms;
      run(apply(env, rule, step, shard, total));
      EXPECT_EQ(copy_of(model.w), copy_of(summed.w)) << to_string(rule.kind) << " of " << count;
      EXPECT_EQ(copy_of(model.s), copy_of(summed.s)) << to_string(rule.kind) << " of " << count;
    }
}

TEST(Update, EveryRuleFollowsItsFormulaForFiftySteps) {
  InlineEnv env;
  for (const Rule& rule : all_rules()) {
    Model model(rule, kN);
    model.draw(Seed(5));
    std::ranges::fill(model.s.all().data(), 0.0F);
    for (std::uint64_t t = 1; t <= 50; ++t) {
      Random random(Seed(6), Purpose::Noise, t);
      for (float& x : model.g.all().data()) x = static_cast<float>(random.normal());
      // From the update's own state: training would amplify rounding differences.
      NaiveState expected = model.naive();
      const NaiveState before = expected;
      const std::vector<float> g = copy_of(model.g);
      const UpdateStep step{.eta = 0.1, .t = t, .samples = 12};
      naive_update(rule, step, expected, {g.begin(), g.end()}, kTensors);
      run(update(env, rule, step, model.all(kTensors)));
      const NaiveState got = model.naive();
      for (std::size_t i = 0; i < kN; ++i) {
        const double reach = std::abs(before.w[i]) + std::abs(expected.w[i]);
        ASSERT_NEAR(got.w[i], expected.w[i], 1e-6 * reach) << describe(rule) << ", t " << t;
        if (slots(rule) > 0) {
          ASSERT_NEAR(got.a[i], expected.a[i], 1e-6 * (1 + std::abs(expected.a[i])));
        }
        if (slots(rule) > 1) {
          ASSERT_NEAR(got.b[i], expected.b[i], 1e-6 * (1 + std::abs(expected.b[i])));
        }
      }
      ASSERT_EQ(copy_of(model.g), g) << describe(rule) << " changed the gradient";
    }
  }
}

// The results of torch::optim of libtorch 1.13 for the same numbers, after 20 steps of 0.1: a hash
// of the bits (FNV-1a) and three of the values.
struct Golden {
  const char* name;
  double momentum;
  double decay;
  std::uint64_t hash;
  std::array<std::uint32_t, 3> bits;
};
constexpr Golden kLibtorch[] = {
    {"sgd", 0, 0, 0xd5e89077581ccdb4, {0xc0799008, 0xbfe76002, 0x3fe5e1f8}},
    {"sgd", 0, 0.01, 0x872bb75d34a3f125, {0xc07588ba, 0xbfe39ff1, 0x3fe15110}},
    {"momentum", 0.9, 0, 0x4b1986968d4c34b, {0xc181e6f4, 0x3f470d38, 0x3fb5184c}},
    {"momentum", 0.9, 0.01, 0x38fa7b024522d13c, {0xc17771e2, 0x3f4a4ef9, 0x3f9bff76}},
    {"nesterov", 0.9, 0, 0x5e9ae47b889b960e, {0xc18636a8, 0x3f0758b3, 0x3fb4b178}},
    {"nesterov", 0.9, 0.01, 0x4a26a027d4bf612a, {0xc17d9eb2, 0x3f032870, 0x3f9a945f}},
    {"adagrad", 0, 0, 0x8f02d69cc170b0a2, {0xc01f13b1, 0xbfc0baed, 0x3fbafadd}},
    {"adagrad", 0, 0.01, 0xa3c18bf4578f36f6, {0xc01eccae, 0xbfc02b5f, 0x3fb09a1e}},
    {"rmsprop", 0, 0, 0x5fed6e7f09762787, {0xc0f27b79, 0x3fa34b04, 0xbffc9a9e}},
    {"rmsprop", 0.9, 0.01, 0x98398f7acaea529d, {0xc224b907, 0x41d715cb, 0x404894da}},
    {"adam", 0, 0, 0xcaf1f4e3af64ef1e, {0xc06c06b1, 0xbf5333f4, 0x3ec09cec}},
    {"adam", 0, 0.01, 0xe6fbeb4b5be8a0dc, {0xc06b6f93, 0xbf504a58, 0x3e9dcbfe}},
    {"adamw", 0, 0.01, 0x57119fa97b908eb4, {0xc0686f35, 0xbf4deecc, 0x3eb6897a}},
};

std::uint64_t fnv(std::span<const float> values) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const float x : values)
    for (unsigned byte = 0; byte < 4; ++byte)
      hash = (hash ^ (std::bit_cast<std::uint32_t>(x) >> 8 * byte & 0xffU)) * 0x100000001b3;
  return hash;
}

TEST(Update, GivesTheBitsOfLibtorch) {
  InlineEnv env;
  for (const Golden& golden : kLibtorch) {
    Rule rule = parse_rule(golden.name);
    rule.momentum = golden.momentum;
    rule.weight_decay = golden.decay;
    Model model(rule, kN);
    for (std::size_t i = 0; i < kN; ++i)
      model.w.data()[i] = static_cast<float>(int((i * 7919 + 13) % 2003) - 1001) / 512;
    for (std::uint64_t t = 1; t <= 20; ++t) {
      for (std::size_t i = 0; i < kN; ++i) {
        const auto mean = static_cast<float>(int((i * 104729 + t * 7907 + 5) % 4001) - 2000) / 1024;
        model.g.data()[i] = 4 * mean / static_cast<float>(1U << i % 7);
      }
      run(update(env, rule, {.eta = 0.1, .t = t, .samples = 4}, model.all()));
    }
    const std::span<const float> w = model.w.all().data();
    const std::array got = {std::bit_cast<std::uint32_t>(w[0]), std::bit_cast<std::uint32_t>(w[64]),
                            std::bit_cast<std::uint32_t>(w[130])};
    EXPECT_EQ(got, golden.bits) << describe(rule);
    EXPECT_EQ(fnv(w), golden.hash) << describe(rule);
  }
}

// Updates a model that is cut at `cuts`; every shard has arrays of its own.
void update_in_shards(Env& env, const Rule& rule, const UpdateStep& step, Model& model,
                      const std::vector<std::size_t>& cuts, std::span<const Segment> segments) {
  std::vector<std::unique_ptr<Model>> parts;
  std::vector<UpdateTarget> shards;
  const std::size_t n = model.w.size().value();
  for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
    const std::size_t from = cuts[k], count = cuts[k + 1] - from;
    parts.push_back(std::make_unique<Model>(rule, count));
    const auto copy_in = [&](Arena& to, std::size_t at, const Arena& source,
                             std::size_t source_at) {
      std::memcpy(to.data() + at, const_cast<Arena&>(source).data() + source_at, 4 * count);
    };
    copy_in(parts[k]->w, 0, model.w, from);
    copy_in(parts[k]->g, 0, model.g, from);
    for (unsigned s = 0; s < slots(rule); ++s)
      copy_in(parts[k]->s, s * count, model.s, s * n + from);
    shards.push_back(parts[k]->all(segments));
    shards.back().at = Elements(from);
  }
  Sums total;
  for (unsigned r = 0; r < rounds(rule); ++r) {
    Sums of_round;
    for (const UpdateTarget& shard : shards)
      of_round += run(measure(env, rule, step, shard, r, total));
    total += of_round;
  }
  for (const UpdateTarget& shard : shards) run(apply(env, rule, step, shard, total));
  for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
    const std::size_t from = cuts[k], count = cuts[k + 1] - from;
    std::memcpy(model.w.data() + from, parts[k]->w.data(), 4 * count);
    for (unsigned s = 0; s < slots(rule); ++s)
      std::memcpy(model.s.data() + s * n + from, parts[k]->s.data() + s * count, 4 * count);
  }
}

TEST(Update, ShardsCutInsideTensorsGiveWhatTheWholeGives) {
  InlineEnv env;
  const std::vector<std::vector<std::size_t>> cuttings = {
      {0, kN}, {0, 1, kN}, {0, 17, 45, 46, 46, 90, kN}, {0, 40, 47, kN}, {0, 130, kN}};
  for (const Rule& rule : all_rules())
    for (const auto& cuts : cuttings) {
      Model whole(rule, kN), sharded(rule, kN);
      whole.draw(Seed(7));
      sharded.draw(Seed(7));
      for (std::uint64_t t = 1; t <= 3; ++t) {
        const UpdateStep step{.eta = 0.05, .t = t, .samples = 3};
        run(update(env, rule, step, whole.all(kTensors)));
        update_in_shards(env, rule, step, sharded, cuts, kTensors);
      }
      if (rounds(rule) == 0) {
        ASSERT_EQ(copy_of(whole.w), copy_of(sharded.w)) << describe(rule);
        ASSERT_EQ(copy_of(whole.s), copy_of(sharded.s)) << describe(rule);
      } else {
        for (std::size_t i = 0; i < kN; ++i) {
          const double expected = static_cast<double>(whole.w.data()[i]);
          ASSERT_NEAR(static_cast<double>(sharded.w.data()[i]), expected,
                      1e-6 * std::max(1.0, std::abs(expected)))
              << describe(rule);
        }
      }
    }
}

TEST(Update, AllWidthsGiveTheSameBits) {
  for (const Rule& rule : all_rules()) {
    for (const std::size_t n : {1U, 15U, 16U, 33U, 131U}) {
      Model plain(rule, n);
      plain.draw(Seed(8));
      const Terms terms{.eta = 0.1, .t = 3, .scale = 0.3, .decay = rule.weight_decay, .ratio = 0.7};
      const auto piece_of = [&](Model& m) {
        Piece piece{m.w.data(), m.g.data(), {m.s.data(), m.s.data() + n}, n};
        piece.from_w = piece.w;
        piece.from_slot = {piece.slot[0], piece.slot[1]};
        return piece;
      };
      const double squares = squares_of(plain.g.data(), n, Width::Plain);
      Squares lamb;
      if (rule.kind == RuleKind::Lamb)
        lamb = measure_lamb(rule, terms, piece_of(plain), Width::Plain);
      apply_rule(rule, terms, piece_of(plain), Width::Plain);
      Model wide(rule, n);
      wide.draw(Seed(8));
      EXPECT_EQ(squares_of(wide.g.data(), n, widest()), squares);
      if (rule.kind == RuleKind::Lamb) {
        const Squares of = measure_lamb(rule, terms, piece_of(wide), widest());
        EXPECT_EQ(of.first, lamb.first);
        EXPECT_EQ(of.second, lamb.second);
      }
      apply_rule(rule, terms, piece_of(wide), widest());
      ASSERT_EQ(copy_of(wide.w), copy_of(plain.w)) << describe(rule) << ", " << n;
      ASSERT_EQ(copy_of(wide.s), copy_of(plain.s)) << describe(rule) << ", " << n;
    }
  }
}

TEST(Update, AZeroGradientMovesNothingThatHasNoDecay) {
  InlineEnv env;
  for (const Rule& rule : all_rules()) {
    if (rule.weight_decay > 0) continue;
    Model model(rule, kN);
    model.draw(Seed(9));
    std::ranges::fill(model.g.all().data(), 0.0F);
    std::ranges::fill(model.s.all().data(), 0.0F);
    const std::vector<float> before = copy_of(model.w);
    for (std::uint64_t t = 1; t <= 3; ++t)
      run(update(env, rule, {.eta = 0.1, .t = t, .samples = 3}, model.all(kTensors)));
    EXPECT_EQ(copy_of(model.w), before) << describe(rule);
  }
}

TEST(Update, TinyAndHugeGradientsGiveNumbers) {
  InlineEnv env;
  for (const Rule& rule : all_rules())
    for (const float size : {1e-44F, 1e-39F, 1e-20F, 1e18F, 1e30F}) {
      Model model(rule, kN);
      model.draw(Seed(10));
      std::ranges::fill(model.s.all().data(), 0.0F);
      for (float& x : model.g.all().data()) x *= size;
      run(update(env, rule, {.eta = 1e-3, .t = 1, .samples = 2}, model.all(kTensors)));
      for (const float x : model.w.all().data())
        ASSERT_TRUE(std::isfinite(x)) << describe(rule) << ", " << size;
    }
}

TEST(Update, TheFirstStepOfAdamIsEtaLong) {
  InlineEnv env;
  const Rule rule = parse_rule("adam");
  Model model(rule, kN);
  model.draw(Seed(11));
  std::ranges::fill(model.s.all().data(), 0.0F);
  const std::vector<float> before = copy_of(model.w);
  run(update(env, rule, {.eta = 0.01, .t = 1, .samples = 1}, model.all()));
  for (std::size_t i = 0; i < kN; ++i) {
    const float moved = model.w.data()[i] - before[i];
    EXPECT_NEAR(moved, model.g.data()[i] > 0 ? -0.01F : 0.01F, 1e-6F) << i;
  }
}

TEST(Clipping, ShortensALongGradientAndLeavesAShortOneAlone) {
  InlineEnv env;
  const auto moved = [&](double clip) {
    Rule rule = parse_rule("sgd");
    rule.clip_norm = clip;
    Model model(rule, 2);
    model.g.data()[0] = 4 * 3;  // the mean of four is (3, 4), with norm 5
    model.g.data()[1] = 4 * 4;
    run(update(env, rule, {.eta = 1, .t = 1, .samples = 4}, model.all()));
    return std::hypot(model.w.data()[0], model.w.data()[1]);
  };
  EXPECT_EQ(moved(0), 5.0F);
  EXPECT_EQ(moved(6), 5.0F);
  EXPECT_NEAR(moved(5), 5.0F, 2e-6F) << "exactly at the norm: by libtorch's 1e-6";
  EXPECT_NEAR(moved(2.5), 2.5F, 2e-6F);
  EXPECT_NEAR(moved(1e-3), 1e-3F, 1e-9F);
}

TEST(Segments, DecayAndAdaptationCanBeSwitchedOffForATensor) {
  InlineEnv env;
  Rule rule = parse_rule("sgd");
  rule.weight_decay = 0.5;
  Model model(rule, kN);
  std::ranges::fill(model.w.all().data(), 1.0F);
  run(update(env, rule, {.eta = 1, .t = 1, .samples = 1}, model.all(kTensors)));
  EXPECT_EQ(model.w.data()[39], 0.5F);
  EXPECT_EQ(model.w.data()[40], 1.0F);
  EXPECT_EQ(model.w.data()[46], 1.0F);
  EXPECT_EQ(model.w.data()[47], 0.5F);

  rule = parse_rule("lars");
  rule.weight_decay = 0;
  Model lars(rule, kN);
  std::ranges::fill(lars.w.all().data(), 1.0F);
  std::ranges::fill(lars.g.all().data(), 0.25F);
  run(update(env, rule, {.eta = 1, .t = 1, .samples = 1}, lars.all(kTensors)));
  EXPECT_FLOAT_EQ(lars.w.data()[0], 1 - 0.001F) << "moved by the trusted part of its length";
  EXPECT_FLOAT_EQ(lars.w.data()[40], 0.75F) << "moved by eta as it is";
}

// Counts its calls, and executes them.
class CountingEnv final : public Env {
 public:
  CountingEnv() : Env(Seed(1)) {}
  Time now() const override { return {}; }
  void record(Event) override {}
  std::vector<std::uint64_t> pieces;

 private:
  void start_sleep(SleepOp& op) override { op.fire(); }
  void abort_sleep(SleepOp&) override {}
  void start_work(WorkOp& op) override {
    EXPECT_EQ(op.kind(), Work::Update);
    pieces.push_back(op.n().value());
    op.run();
    op.done();
  }
  bool abort_work(WorkOp&) override { return true; }
};

TEST(Update, WhatGoesAlongIsDoneToEachPartOnceBeforeAndAfterTheStep) {
  InlineEnv env;
  constexpr std::size_t kLong = 20'000;  // several blocks, and a partial one
  const UpdateStep step{.eta = 0.1, .t = 3, .samples = 12};
  for (const Rule& rule : all_rules()) {
    Model model(rule, kLong), apart(rule, kLong);
    model.draw(Seed(9));
    apart.draw(Seed(9));
    std::vector<float> seen(kLong), expected(kLong);
    const auto shift = [](Model& m, std::size_t from, std::size_t to) {
      for (std::size_t i = from; i < to; ++i) m.w.data()[i] += 0.5F;
    };
    const auto keep = [](Model& m, std::vector<float>& kept, std::size_t from, std::size_t to) {
      for (std::size_t i = from; i < to; ++i) kept[i] += m.w.data()[i];
    };
    FusedPass fused;
    fused.before = [&](std::size_t from, std::size_t to) { shift(model, from, to); };
    fused.after = [&](std::size_t from, std::size_t to) { keep(model, seen, from, to); };
    UpdateTarget shard = model.all();
    shard.fused = &fused;
    run(update(env, rule, step, shard));
    shift(apart, 0, kLong);
    run(update(env, rule, step, apart.all()));
    keep(apart, expected, 0, kLong);
    EXPECT_EQ(copy_of(model.w), copy_of(apart.w)) << to_string(rule.kind);
    EXPECT_EQ(copy_of(model.s), copy_of(apart.s)) << to_string(rule.kind);
    EXPECT_EQ(seen, expected) << to_string(rule.kind);
  }
}

TEST(Update, WhatGoesAlongTakesTimeForItsArrays) {
  const Rule rule = parse_rule("sgd");  // three arrays
  Model model(rule, 3000, Substance::Phantom);
  CountingEnv env;
  FusedPass fused;
  fused.after = [](std::size_t, std::size_t) { FAIL() << "a phantom has no parts"; };
  fused.arrays = 2;
  UpdateTarget shard = model.all();
  shard.fused = &fused;
  run(update(env, rule, {.eta = 0.1, .t = 1, .samples = 1}, shard));
  EXPECT_EQ(env.pieces, std::vector<std::uint64_t>{5000});
}

TEST(Update, APhantomTakesItsTimeAndNothingElse) {
  for (const char* name : {"sgd", "adam", "lars", "lamb"}) {
    const Rule rule = parse_rule(name);
    const std::uint64_t n = 1'000'000'000'000;
    Model model(rule, n, Substance::Phantom);
    CountingEnv env;
    run(update(env, rule, {.eta = 0.1, .t = 1, .samples = 1}, model.all()));
    EXPECT_EQ(env.pieces, std::vector<std::uint64_t>(rounds(rule) + 1, n)) << name;
  }
}

TEST(Update, NothingIsNothing) {
  const Rule rule = parse_rule("lamb");
  Model model(rule, 0);
  CountingEnv env;
  run(update(env, rule, {.eta = 0.1, .t = 1, .samples = 1}, model.all()));
}

TEST(Update, AStateThatLiesElsewhereIsReadThereAndStays) {
  for (const Rule& rule : all_rules()) {
    const std::size_t n = 2600;  // more than two blocks
    Model in_place(rule, n), before(rule, n), after(rule, n);
    in_place.draw(Seed(12));
    before.draw(Seed(12));
    after.draw(Seed(13));
    CountingEnv env;
    const UpdateStep step{.eta = 0.1, .t = 2, .samples = 2};
    run(update(env, rule, step, in_place.all()));
    UpdateTarget shard = after.all();
    shard.g = before.all().g;
    shard.before_w = before.all().w;
    shard.before_slots = before.all().slots;
    run(update(env, rule, step, shard));
    EXPECT_EQ(copy_of(after.w), copy_of(in_place.w)) << describe(rule);
    EXPECT_EQ(copy_of(after.s), copy_of(in_place.s)) << describe(rule);
    Model untouched(rule, n);
    untouched.draw(Seed(12));
    EXPECT_EQ(copy_of(before.w), copy_of(untouched.w)) << describe(rule);
    EXPECT_EQ(copy_of(before.s), copy_of(untouched.s)) << describe(rule);
  }
}

TEST(Update, ALongRangeIsWorkedOnInSlices) {
  const Rule rule = parse_rule("momentum");
  const std::size_t n = 3 * kSliceElements + 17;
  Model model(rule, n), expected(rule, n);
  model.draw(Seed(12));
  expected.draw(Seed(12));
  const Terms terms{.eta = 0.1, .t = 1, .scale = 0.5, .decay = 0, .ratio = 1};
  Piece all{expected.w.data(), expected.g.data(), {expected.s.data()}, n};
  all.from_w = all.w;
  all.from_slot[0] = all.slot[0];
  apply_rule(rule, terms, all, Width::Plain);
  CountingEnv env;
  run(update(env, rule, {.eta = 0.1, .t = 1, .samples = 2}, model.all()));
  EXPECT_EQ(copy_of(model.w), copy_of(expected.w));
  EXPECT_EQ(copy_of(model.s), copy_of(expected.s));
  EXPECT_EQ(std::accumulate(env.pieces.begin(), env.pieces.end(), std::uint64_t{0}), n);
  EXPECT_EQ(*std::ranges::max_element(env.pieces), kSliceElements) << "heartbeats go between";
}

}  // namespace
}  // namespace shoal
