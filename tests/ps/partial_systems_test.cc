// Properties of the systems that push partial gradients: bosen, asp, and the filters of
// parameter-server.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "ps/protocol.h"
#include "ps/served_job.h"
#include "recipe/registry.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

// Records the gradients that nodes push.
class Pushes final : public Observer {
 public:
  struct Push {
    Time at;
    std::uint64_t bytes;
  };
  void on(const Event& e) override {
    if (e.kind != EventKind::SendPosted || e.group != kServing) return;
    if (e.a >> 56U == static_cast<std::uint64_t>(MessageKind::Gradient))
      by[e.node].push_back({e.at, e.b});
  }
  std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const auto& [node, pushes] : by)
      for (const Push& p : pushes) sum += p.bytes;
    return sum;
  }
  std::map<NodeId, std::vector<Push>> by;
};

// A quadratic in which one parameter in ten has a gradient, like rows of an embedding.
class SparseLearner final : public Learner {
 public:
  explicit SparseLearner(const QuadraticOptions& problem) : whole_(problem) {}
  const Layout& layout() const override { return whole_.layout(); }
  Substance substance() const override { return Substance::Real; }
  void initialize(Range w) const override { whole_.initialize(w); }
  Task<void> gradient(Env& env, Range w, GradientTarget target, Portion portion,
                      Channel<Ready>& ready, Score& score) override {
    co_await whole_.gradient(env, w, target, std::move(portion), ready, score);
    const std::span<float> g = target.g.data();
    for (std::size_t i = 0; i < g.size(); ++i)
      if (i % 10 != 0) g[i] = 0;
  }
  Task<Score> evaluate(Env& env, Range w, std::uint64_t from, std::uint64_t to) override {
    return whole_.evaluate(env, w, from, to);
  }
  std::uint64_t held_out() const override { return whole_.held_out(); }

 private:
  QuadraticLearner whole_;
};

class PartialSystems : public testing::Test {
 protected:
  struct Run {
    std::vector<float> w;
    Staleness staleness;
    Pushes pushes;
    double loss = 0;  // the workers' mean loss in the second half of their steps
    std::map<std::string, std::uint64_t> probes;
  };

  static ServedSetup like(const char* name) {
    ServedSetup o;
    o.recipe.ps = std::get<Served>(find_system(name).recipe).ps;
    return o;
  }
  std::unique_ptr<Run> run(const ServedSetup& setup, std::size_t workers) {
    auto run = std::make_unique<Run>();
    ServedJob job;
    job.task.samples = samples;
    job.problem = problem;
    job.other = other;
    job.take(setup);
    const std::size_t servers = setup.recipe.ps.servers;
    const QuadraticLearner quadratic(problem);
    std::uint64_t seen = 0;
    job.after_read = [&](std::uint64_t version, std::span<const float> w) {
      if (version * setup.task.batch < samples / 2) return;
      run->loss += quadratic.loss(w);
      ++seen;
    };
    Cluster cluster = served_cluster(job, servers, workers);
    for (std::size_t i = 0; i < workers; ++i)
      cluster.nodes[servers + i].host = HostId(static_cast<std::uint32_t>(servers + i / on_host));
    for (HostModel& host : cluster.hosts) {
      host.cores = static_cast<unsigned>(on_host);
      host.memory = {.latency = 1us, .bytes_per_s = 1e10};
    }
    job.task.hosts = (workers + on_host - 1) / on_host;
    Recorder recorder;
    recorder.observe(run->pushes);
    World world(cluster, {.seed = kServedSeed, .recorder = &recorder});
    if (story) story(world);
    run->probes = run_served(job, world).probes;
    run->w = job.results[NodeId(static_cast<std::uint32_t>(servers))];
    run->staleness = job.measured;
    if (seen > 0) run->loss /= static_cast<double>(seen);
    return run;
  }
  double loss(const Run& run) const { return QuadraticLearner(problem).loss(run.w); }

  std::size_t on_host = 1;  // workers
  std::uint64_t samples = 480;
  QuadraticOptions problem{.seed = kServedSeed, .dimensions = Elements(100)};
  Learner* other = nullptr;  // replaces the quadratic
  std::function<void(World&)> story = {};
};

// ---- Special cases that equal other systems

TEST_F(PartialSystems, AThresholdOfZeroIsAsgdBitForBit) {
  ServedSetup zero = like("asgd");
  zero.recipe.ps.filter = parse_filter("significant:0");
  for (const std::size_t workers : {1, 4})
    EXPECT_EQ(run(zero, workers)->w, run(like("asgd"), workers)->w);
}

TEST_F(PartialSystems, ABudgetThatIsNeverSpentIsSspBitForBit) {
  ServedSetup rich = like("ssp");
  rich.recipe.ps.filter = parse_filter("magnitude:1e12");
  EXPECT_EQ(run(rich, 1)->w, run(like("ssp"), 1)->w);
}

TEST_F(PartialSystems, CompressionChangesBytesAndNoBit) {
  ServedSetup plain = like("asgd"), less = like("asgd");
  less.recipe.ps.compress = true;
  EXPECT_EQ(run(less, 1)->w, run(plain, 1)->w);
}

// ---- bosen

TEST_F(PartialSystems, BosenPushesNoMoreInAnyWindowThanRateTimesWindowAndBurst) {
  ServedSetup o = like("bosen");
  o.recipe.ps.filter = parse_filter("magnitude:20000:400");
  for (const std::size_t servers : {1, 3}) {
    o.recipe.ps.servers = static_cast<std::uint32_t>(servers);
    const auto bosen = run(o, 4);
    ASSERT_EQ(bosen->pushes.by.size(), 4U);
    for (const auto& [node, pushes] : bosen->pushes.by) {
      ASSERT_GT(pushes.size(), 10U);
      for (std::size_t i = 0; i < pushes.size(); ++i) {
        double sum = 0;
        for (std::size_t j = i; j < pushes.size(); ++j) {
          sum += static_cast<double>(pushes[j].bytes);
          const double window = seconds(pushes[j].at - pushes[i].at);
          ASSERT_LE(sum, 20'000 * window + 400 + 0.01)
              << "node " << node.value() << ", " << i << ".." << j;
        }
      }
    }
  }
}

TEST_F(PartialSystems, BosenGetsMoreOutOfEachByteThanFifo) {
  samples = 1920;
  ServedSetup bosen = like("bosen"), fifo = like("bosen");
  bosen.recipe.ps.filter = parse_filter("magnitude:2000:400");
  fifo.recipe.ps.filter = parse_filter("fifo:2000:400");
  const auto first = run(bosen, 4), in_turn = run(fifo, 4);
  EXPECT_NEAR(static_cast<double>(first->pushes.bytes()),
              static_cast<double>(in_turn->pushes.bytes()),
              0.05 * static_cast<double>(in_turn->pushes.bytes()));
  EXPECT_LT(2 * first->loss, in_turn->loss);
}

TEST_F(PartialSystems, ASmallerBudgetIsFewerBytesAndStillTrains) {
  samples = 1920;
  ServedSetup rich = like("bosen"), poor = like("bosen");
  poor.recipe.ps.filter = parse_filter("magnitude:2000:400");
  const auto all = run(rich, 4), some = run(poor, 4);
  EXPECT_LT(some->pushes.bytes() * 3, all->pushes.bytes());
  const std::vector<float> start(100, 0.0F);
  EXPECT_LT(loss(*some), 0.5 * QuadraticLearner(problem).loss(start));
}

// ---- asp

TEST_F(PartialSystems, GaiaSendsLessAndComesAsFar) {
  samples = 1920;
  problem.noise = 0.3;
  ServedSetup gaia = like("gaia"), all = like("gaia");
  gaia.recipe.ps.filter = filter::Significant{0.3};
  all.recipe.ps.filter = filter::None{};
  const auto some = run(gaia, 4), plain = run(all, 4);
  EXPECT_LT(some->pushes.bytes() * 2, plain->pushes.bytes());
  EXPECT_LT(loss(*some), 1.2 * loss(*plain));
}

TEST_F(PartialSystems, BetweenSitesOfGaiaGoesOnlyWhatIsSignificantOfTheirSum) {
  samples = 5760;
  problem.noise = 0.3;
  ServedSetup gaia = like("gaia"), all = like("gaia");
  gaia.recipe.ps.filter = filter::Significant{0.3};
  all.recipe.ps.filter = filter::None{};
  on_host = 3;
  const auto sites = run(gaia, 6), whole = run(all, 6);
  EXPECT_EQ(sites->pushes.by.size(), 2U) << "one worker speaks for each site";
  EXPECT_LT(sites->pushes.bytes() * 2, whole->pushes.bytes());
  EXPECT_LT(loss(*sites), 1.2 * loss(*whole));
}

TEST_F(PartialSystems, AReadWaitsForWhatWasAnnounced) {
  // A gradient arrives last: a worker that reads meanwhile misses it, or waits.
  problem.dimensions = Elements(20'000);
  samples = 240;
  ServedSetup with = like("asgd"), without = like("asgd");
  with.recipe.ps.barrier = true;
  EXPECT_LT(run(with, 4)->staleness.mean(), run(without, 4)->staleness.mean());
}

// ---- Losses

TEST_F(PartialSystems, AServerThatTakesOverAsksForTheKeys) {
  // They are the same from push to push.
  SparseLearner sparse(problem);
  other = &sparse;
  ServedSetup o = like("parameter-server");
  o.recipe.ps.filter = parse_filter("significant:0");
  const auto whole = run(o, 1);
  EXPECT_FALSE(whole->probes.contains("ps: the keys of a push were not known"));
  story = [](World& world) { world.at(Time(40ms), [&world] { world.kill(NodeId(0), false); }); };
  const auto killed = run(o, 1);
  EXPECT_TRUE(killed->probes.contains("ps: the keys of a push were not known"));
  EXPECT_EQ(killed->w, whole->w);
}

TEST_F(PartialSystems, KeysThatStayTheSameCostNothing) {
  SparseLearner sparse(problem);
  other = &sparse;
  ServedSetup o = like("asgd");
  o.recipe.ps.filter = parse_filter("significant:0");
  const auto one = run(o, 1);
  const std::uint64_t pushes = one->staleness.pushes;
  EXPECT_EQ(one->pushes.bytes(), pushes * (16 + 10 * 4) + 10 * 4) << "a list, once";
}

}  // namespace
}  // namespace shoal
