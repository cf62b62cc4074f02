#include "bench/hogwild_bench.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <mutex>
#include <numeric>

#include "bench/command.h"
#include "data/dataset.h"
#include "learner/logistic.h"
#include "runtime/live/live_env.h"

namespace shoal {
namespace {

constexpr double kSamples = 40'000;
constexpr int kPasses = 10;  // over all samples, per measurement
constexpr double kEta = 0.05;

struct Problem {
  const char* name;
  const char* data;
  double target;  // times one thread
};
// If features are rare, threads rarely conflict; with text, a few words are in every sample, and
// two cores' caches pass these weights back and forth.
constexpr std::array kProblems = {
    Problem{"20 M features, 30 of them a sample",
            "synthetic:sparse,features=20000000,pairs=30,skew=0,n=100000,test=2000", 1.7},
    Problem{"47,000 words, 75 of them a sample",
            "synthetic:sparse,features=47000,pairs=75,skew=1,n=100000,test=2000", 0}};

enum class Lock : std::uint8_t { None, Each };

// The lock that Hogwild avoids: exclusive access to the model during a sample.
class LockedLane final : public Lane {
 public:
  LockedLane(LogisticLane& lane, std::mutex& lock) : lane_(lane), lock_(lock) {}
  bool step() override {
    const std::lock_guard held(lock_);
    return lane_.sample();
  }
  Elements size() const override { return lane_.size(); }

 private:
  LogisticLane& lane_;
  std::mutex& lock_;
};

class Bench {
 public:
  Bench(const Problem& problem, double scale)
      : data_(open_dataset(problem.data, {}, {})),
        learner_(data_.train, data_.test),
        w_(learner_.layout().all(), Substance::Real) {
    const auto n = static_cast<std::uint64_t>(std::max(2000.0, kSamples * scale));
    for (std::uint64_t k = 0; k < parts_.size(); ++k) {
      std::vector<SampleId> samples(n / parts_.size());
      std::iota(samples.begin(), samples.end(), k * samples.size());
      data_.train->fill(0, samples, parts_[k]);
    }
  }

  // Updates a second. One thread has all samples; each of two has half.
  double rate(std::size_t threads, Lock lock) {
    std::ranges::fill(w_.all().data(), 0.0F);
    LiveLoop loop;
    LiveEnv env(loop, {});
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kPasses; ++i) {
      last_ = Score();
      for (std::size_t at = 0; at < parts_.size(); at += threads) pass(env, at, threads, lock);
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    return static_cast<double>(kPasses * parts_[0].n * parts_.size()) / took.count();
  }
  // The loss during the last pass over all samples.
  double loss() const { return mean_loss(last_); }

 private:
  void pass(Env& env, std::size_t first, std::size_t threads, Lock lock) {
    std::vector<Score> scores(threads);
    std::vector<std::unique_ptr<LogisticLane>> lanes;
    std::vector<std::unique_ptr<LockedLane>> locked;
    std::vector<Lane*> all;
    for (std::size_t k = 0; k < threads; ++k) {
      lanes.push_back(std::make_unique<LogisticLane>(Shared(w_.all().data()), data_.train->shape(),
                                                     parts_[first + k], kEta, scores[k]));
      locked.push_back(std::make_unique<LockedLane>(*lanes.back(), one_at_a_time_));
      all.push_back(lock == Lock::None ? static_cast<Lane*>(lanes.back().get())
                                       : static_cast<Lane*>(locked.back().get()));
    }
    env.together(all, 0);
    for (const Score& score : scores) last_ += score;
  }

  Dataset data_;
  LogisticLearner learner_;
  Arena w_;
  std::array<Batch, 2> parts_;
  std::mutex one_at_a_time_;
  Score last_;
};

BenchRow measure(const Problem& problem, double scale, int rounds) {
  Bench bench(problem, scale);
  bench.rate(2, Lock::None);  // pages and caches
  std::vector<double> one, two, locked, times, times_locked;
  double worst = 0;
  for (int round = 0; round < rounds; ++round) {
    one.push_back(bench.rate(1, Lock::None));
    const double alone = bench.loss();
    two.push_back(bench.rate(2, Lock::None));
    worst = std::max(worst, bench.loss() / alone);
    locked.push_back(bench.rate(2, Lock::Each));
    times.push_back(two.back() / one.back());
    times_locked.push_back(two.back() / locked.back());
  }
  BenchRow row{.name = problem.name, .ours = median(two), .unit = "updates/s"};
  row.peers["1 thread"] = median(one);
  row.peers["2 threads with a lock"] = median(locked);
  row.target = problem.target * row.ours / median(times);
  // Races change the loss little compared with the order of the samples.
  row.verified = worst < 1.1;
  row.note = fmt::format("2 threads: {:.2f} times one, {:.2f} times with a lock; loss {:.3f} times",
                         median(times), median(times_locked), worst);
  return row;
}

}  // namespace

std::vector<BenchRow> bench_hogwild(double scale, int rounds) {
  std::vector<BenchRow> rows;
  for (const Problem& problem : kProblems) rows.push_back(measure(problem, scale, rounds));
  return rows;
}

}  // namespace shoal
