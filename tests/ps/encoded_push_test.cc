// Encoded pushes and pulls of the servers.
#include "ps/encoded_push.h"

#include <gtest/gtest.h>

#include <memory>
#include <numeric>

#include "base/error.h"
#include "collective/worlds.h"
#include "encoded/encode.h"
#include "encoded/gradients.h"
#include "ps/protocol.h"
#include "ps/served_job.h"
#include "recipe/registry.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

// Counts gradients sent by workers and parameters sent by servers.
class Sent final : public Observer {
 public:
  void on(const Event& e) override {
    if (e.kind != EventKind::SendPosted || e.group != kServing) return;
    const auto what = static_cast<MessageKind>(e.a >> 56U);
    if (what == MessageKind::Gradient) pushed.push_back(e.b);
    if (what == MessageKind::Parameters) pulled.push_back(e.b);
  }
  static std::uint64_t sum(const std::vector<std::uint64_t>& all) {
    return std::accumulate(all.begin(), all.end(), std::uint64_t{0});
  }
  std::vector<std::uint64_t> pushed, pulled;  // bytes of each message
};

class EncodedServers : public testing::Test {
 protected:
  struct Run {
    std::vector<float> w;
    Staleness staleness;
    LedgerTally tally;
    Sent sent;
    std::map<std::string, std::uint64_t> probes;
  };
  std::unique_ptr<Run> run(const char* encode, const char* pulls = "fp32",
                           const char* consistency = "async") {
    auto run = std::make_unique<Run>();
    ServedJob job;
    job.task.samples = samples;
    job.problem = problem;
    job.recipe.ps.consistency = parse_consistency(consistency);
    job.recipe.ps.pulls = parse_encoding(pulls);
    job.recipe.ps.copies = copies;
    parse_encode(encode, job.recipe.encode);
    job.recipe.encode.after = after;
    job.task.epochs = 2;
    Recorder recorder;
    recorder.observe(run->sent);
    Cluster cluster = served_cluster(job, servers, workers);
    if (quick) cluster.ns_per_element = {10, 40, 1e2, 1e2, 0, 0, 0, 0};
    World world(cluster, {.seed = kServedSeed, .recorder = &recorder});
    if (story) story(world);
    run->probes = run_served(job, world).probes;
    run->w = job.results[NodeId(static_cast<std::uint32_t>(servers))];
    run->staleness = job.measured;
    run->tally = job.tally;
    return run;
  }
  double loss(const Run& run) const { return QuadraticLearner(problem).loss(run.w); }
  double loss_at_start() const {
    const std::vector<float> zero(problem.dimensions.value(), 0.0F);
    return QuadraticLearner(problem).loss(zero);
  }

  std::size_t servers = 2, workers = 4;
  std::uint32_t copies = 1;
  bool quick = false;  // gradients take less time than messages
  std::uint64_t samples = 480;
  double after = 0;
  QuadraticOptions problem{.seed = kServedSeed, .dimensions = Elements(1'000)};
  std::function<void(World&)> story = {};
};

// ---- Bytes

TEST_F(EncodedServers, APushHasTheBytesOfItsFormAndAnEpochEndsWithWhatWaited) {
  const auto plain = run("fp32"), half = run("fp16"), few = run("topk:0.01+ef");
  const std::uint64_t pushes = plain->staleness.pushes;
  EXPECT_EQ(Sent::sum(plain->sent.pushed), pushes * 1'000 * 4);
  const MessageForm form(QuadraticLearner(problem).pieces(), parse_encoding("fp16"));
  std::uint64_t message = 0;
  for (const ShardCut& cut : cut_shards(problem.dimensions, servers))
    message += form.expected({cut.at, cut.n}).value();
  EXPECT_EQ(Sent::sum(half->sent.pushed), pushes * message);
  // Twice, a worker pushes its residual uncompressed.
  const std::uint64_t rests = 2 * workers;
  ASSERT_EQ(few->sent.pushed.size(), (pushes + rests) * servers);
  EXPECT_LT(Sent::sum(few->sent.pushed) - rests * 4'000, Sent::sum(plain->sent.pushed) / 10);
}

TEST_F(EncodedServers, PullsAreHalfAsLongAndWhatIsSavedIsNot) {
  const auto plain = run("fp32"), half = run("fp32", "fp16");
  std::uint64_t whole = 0, halves = 0, others = 0;
  for (const std::uint64_t bytes : half->sent.pulled) {
    const ShardCut first = cut_shards(problem.dimensions, servers)[0];
    const std::uint64_t all = first.n.value() * 4, rest = 4'000 - all;
    ++(bytes == all || bytes == rest           ? whole
       : bytes == all / 2 || bytes == rest / 2 ? halves
                                               : others);
  }
  EXPECT_EQ(others, 0U);
  EXPECT_GT(whole, 0U) << "at an epoch's end";
  EXPECT_GT(halves, 5 * whole);
  EXPECT_LT(10 * Sent::sum(half->sent.pulled), 7 * Sent::sum(plain->sent.pulled));
}

// ---- Convergence

TEST_F(EncodedServers, ConvergesWithEveryConsistency) {
  for (const char* const consistency :
       {"async", "synchronous", "bounded:0", "bounded:2", "softsync:2", "value:5"}) {
    const double plain = loss(*run("fp32", "fp32", consistency));
    EXPECT_LT(plain, 0.2 * loss_at_start()) << consistency;
    for (const char* const encode : {"topk:0.1+ef", "onebit+ef", "qsgd:16"}) {
      const auto encoded = run(encode, "fp16", consistency);
      EXPECT_LT(loss(*encoded), 1.5 * plain + 2) << consistency << ", " << encode;
    }
  }
}

TEST_F(EncodedServers, WhatIsLosslessIsBitForBitAsPlain) {
  workers = 1;
  EXPECT_EQ(run("fp32+zstd")->w, run("fp32")->w);
  after = 5;
  EXPECT_EQ(run("onebit+ef")->w, run("fp32")->w) << "not encoded yet";
}

// Gradients do not depend on the parameters: in the end the model contains all of them, for any
// encoding.
TEST_F(EncodedServers, SentAndWaitingAreAllGradients) {
  run_in(WorldKind::Ideal, 1, [&](Node& node) -> Task<> {
    constexpr std::uint64_t kElements = 1'000;
    const std::vector<ShardCut> cuts = cut_shards(Elements(kElements), 3);
    const Cuts pieces = uneven_pieces(kElements);
    for (const char* const text : {"topk:0.05+ef", "onebit+ef", "strom:0.1"}) {
      const std::vector<Encoding> encodings(pieces.size(), parse_encoding(text));
      MessageForm form(pieces, encodings[0]);
      EncodedPush push(node, pieces, encodings, cuts, Substance::Real);
      Arena g(Elements(kElements), Substance::Real), got(Elements(kElements), Substance::Real);
      std::vector<double> all(kElements, 0), sent(kElements, 0);
      for (std::uint64_t t = 1; t <= 20; ++t) {
        const std::vector<float> gradient = gradient_of(0, t, kElements);
        std::ranges::copy(gradient, g.all().data().begin());
        co_await push.encode(g.all(), 8, t);
        for (std::uint32_t k = 0; k < cuts.size(); ++k)
          form.decode(push.packed(k).bytes(), {cuts[k].at, cuts[k].n},
                      got.range(cuts[k].at, cuts[k].n).data(), NodeId(0));
        for (std::size_t i = 0; i < kElements; ++i) {
          all[i] += static_cast<double>(gradient[i]);
          sent[i] += static_cast<double>(got.data()[i]);
        }
      }
      EXPECT_TRUE(push.holds_back());
      co_await push.release(g.all());
      EXPECT_FALSE(push.holds_back());
      for (std::size_t i = 0; i < kElements; ++i)
        EXPECT_NEAR(sent[i] + static_cast<double>(g.data()[i]), all[i], 1e-4)
            << text << " at " << i;
    }
  });
}

// ---- Losses

TEST_F(EncodedServers, AServerThatTakesOverGetsTheSameBytes) {
  workers = 1;
  copies = 2;
  quick = true;
  const auto whole = run("topk:0.1+ef", "fp16");
  std::uint64_t again = 0;
  for (int i = 0; i < 20; ++i) {
    const Duration when = 40ms + i * 3700us;
    story = [=](World& world) { world.at(Time(when), [&world] { world.kill(NodeId(0), false); }); };
    const auto killed = run("topk:0.1+ef", "fp16");
    again += killed->probes["ps: a request was sent again"];
    EXPECT_EQ(killed->w, whole->w);
  }
  EXPECT_GT(again, 0U);
}

// A regression: it counted samples as applied if one shard had them, though the residual was lost
// with the worker.
TEST_F(EncodedServers, SamplesOfWhichALostWorkerKeptSomethingArePartial) {
  story = [](World& world) { world.at(Time(2s), [&world] { world.kill(NodeId(3), false); }); };
  servers = 1;
  const auto partial = [](const Run& run) {
    return run.tally.ended[static_cast<std::size_t>(SampleEnd::Partial)];
  };
  const auto all = [](const Run& run) {
    return std::accumulate(run.tally.ended.begin(), run.tally.ended.end(), std::uint64_t{0});
  };
  for (const char* const text : {"topk:0.1+ef", "onebit+ef", "twobit", "fp16,w=topk:0.1+ef"}) {
    const auto lost = run(text);
    EXPECT_GT(partial(*lost), 0U) << text;
    EXPECT_LT(partial(*lost), samples / 2) << text;
    EXPECT_EQ(all(*lost), 2 * samples) << text;
  }
  for (const char* const text : {"fp32", "fp16"}) {
    const auto lost = run(text);
    EXPECT_EQ(partial(*lost), 0U) << text << " keeps nothing";
    EXPECT_EQ(all(*lost), 2 * samples) << text;
  }
}

// ---- Layers

TEST(Encode, TextFormsComeBackAsTheyWere) {
  for (const char* const text :
       {"fp32", "onebit+ef", "topk:0.01+ef,conv*=fp16", "fc1=topk:0.01+ef,fc2=qsgd:4"}) {
    Encode encode;
    parse_encode(text, encode);
    EXPECT_EQ(encode_text(encode), text);
  }
}

TEST(Encode, WhatIsForNoLayerIsRefused) {
  Encode encode;
  for (const char* const text : {"fp16,onebit", "=fp16", "fc1=", "fc1=sixbit", ""})
    EXPECT_THROW(parse_encode(text, encode), ConfigError) << text;
}

class Layered final : public Learner {
 public:
  const Layout& layout() const override { return layout_; }
  Substance substance() const override { return Substance::Real; }
  void initialize(Range) const override {}
  Task<void> gradient(Env&, Range, GradientTarget, Portion, Channel<Ready>&, Score&) override {
    co_return;
  }
  Task<Score> evaluate(Env&, Range, std::uint64_t, std::uint64_t) override { co_return Score(); }

 private:
  static TensorEntry tensor(const char* name, std::vector<std::int64_t> shape) {
    TensorEntry entry;
    entry.name = name;
    entry.strides = std::vector<std::int64_t>(shape.size(), 1);
    if (shape.size() == 2) entry.strides[0] = shape[1];
    entry.shape = std::move(shape);
    return entry;
  }
  Layout layout_{{tensor("conv1.weight", {4, 3}), tensor("fc1.weight", {5, 4}),
                  tensor("fc1.bias", {5}), tensor("fc10.weight", {2, 5})}};
};

TEST(Encode, AnEncodingForEachLayerAndTheFirstThatFitsCounts) {
  const Layered learner;
  Encode encode;
  parse_encode("onebit+ef,fc1.bias=fp32,fc1=topk:0.1+ef,c*=fp16", encode);
  const std::vector<Encoding> all = encodings_of(encode, learner);
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(to_string(all[0]), "fp16");
  EXPECT_EQ(to_string(all[1]), "topk:0.1+ef");
  EXPECT_EQ(to_string(all[2]), "fp32");
  EXPECT_EQ(to_string(all[3]), "onebit+ef") << "fc10 is not fc1";
}

TEST(Encode, AnUnknownLayerIsNamedWithTheNearest) {
  const Layered learner;
  Encode encode;
  parse_encode("cv1=fp16", encode);
  try {
    encodings_of(encode, learner);
    FAIL() << "it was taken";
  } catch (const ConfigError& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find("cv1"), std::string::npos) << what;
    EXPECT_NE(what.find("conv1"), std::string::npos) << what;
  }
}

}  // namespace
}  // namespace shoal
