// Synchronous model averaging (SMA): a worker trains several models (learners), each coupled to a
// central model. Koliousis, Watcharapichat, Weidlich, Mai, Costa, Pietzuch, "Crossbow: Scaling Deep
// Learning with Small Batch Sizes on Multi-GPU Servers", PVLDB 12(11), 2019, arXiv:1901.02244.
//
//   each worker:  z central model; w_1 .. w_k learners, set to z at first and when the rate drops
//   in each round:
//     for each learner j, with its own batch:
//       g <- gradient at w_j;   c_j <- alpha (w_j - z)
//       w_j <- update(w_j, g) - c_j
//     z <- z + sum of c_j + mu (z - z of the round before)
//   every tau rounds:  z <- mean of z over all workers; the momentum term is not changed
//
// Number of learners: rounds are timed. While another learner raises the samples per second by at
// least a twentieth, one is added; then one is removed, and the number is kept until the next view.
//
// Symbols: k learners; alpha 1 / k by default; mu: --block-momentum; the rate drops when it is less
//   than half of its former value.
// Cost of a round: the gradients of k batches, one after the other, and 2 (P-1)/P N / tau values;
//   memory for k models and their optimizers.
// Invariant: without gradients and momentum a round does not change the sum of z and all w_j.
// The result is the mean of all z.
// Deviations: the learners of a worker compute in turn, not at once, so that more of them pay if
//   the end of a round is expensive. A worker corresponds to a GPU of the paper. Averaged buffers
//   (running statistics) follow z without momentum.
// Failure: the changes of a lost worker's z since the last mean are lost. A newcomer's learners
//   begin at the z that it is given, and all do so after a resume: a checkpoint has each worker's
//   z.
#include "decentral/learners.h"

#include <algorithm>
#include <deque>
#include <numeric>
#include <utility>
#include <vector>

#include "collective/dissemination.h"
#include "decentral/algorithm.h"
#include "decentral/audit.h"
#include "runtime/slices.h"

namespace shoal {
namespace {

constexpr std::uint64_t kTrialRounds = 6;  // for each number of learners; the first is not timed
constexpr double kGain = 1.05;

class CentralAverage final : public AlgorithmOf<LearnersSettings> {
 public:
  CentralAverage(const LearnersSettings& settings, Node& node, const Learner& learner,
                 const DecentralTerms& terms)
      : AlgorithmOf(settings, node, learner, terms),
        all_(learner.layout().all()),
        sum_(model_arena()),
        before_(model_arena()),
        mean_(model_arena()) {}

  Task<void> begin(ViewContext& context, Range model, const MembershipSnapshot& snapshot) override {
    (void)model;
    if (snapshot.newcomers[context.group.rank.value()]) begun_ = 0;
    rounds_ = 0;
    const std::uint32_t asked = settings_.learners;
    k_ = asked > 0 ? asked : 1;
    trial_ = Trial();
    co_return;
  }

  Task<void> run(TrainingRound& round) override {
    co_await clear(round.env(), sum_.all());
    while (true) {
      co_await begin_round(round);
      std::size_t moved = 0;
      while (moved < k_) {
        const bool more = co_await round.next();
        if (!more) break;
        co_await learn(round, learners_[moved++]);
      }
      if (moved > 0) co_await move_center(round);
      if (moved < k_) break;
      ++rounds_;
      if (rounds_ % settings_.local_steps == 0) co_await meet_others(round);
      if (settings_.learners == 0 && !trial_.over) co_await tune(round);
    }
  }

 private:
  struct Trained {
    Trained(Endpoint& endpoint, Elements all, Elements each, Substance substance)
        : state(endpoint, all, substance), slots(endpoint, each, substance) {}
    Arena state, slots;
  };
  // The trial of a number of learners.
  struct Trial {
    bool over = false;
    std::uint64_t rounds = 0;
    std::uint64_t samples = 0;
    Time begin{};
    double best = 0;  // samples a second, with one learner less
  };

  // New learners begin at z; all learners do when the rate has dropped.
  Task<void> begin_round(TrainingRound& round) {
    const double eta = terms_.eta(round.t());
    if (begun_ == 0) co_await copy(round.env(), before_.all(), round.model());
    if (eta < eta_ / 2) begun_ = 0;
    eta_ = begun_ == 0 ? eta : std::max(eta, eta_);
    begun_ = std::min(begun_, k_);
    for (; begun_ < k_; ++begun_) {
      if (begun_ == learners_.size())
        learners_.emplace_back(node_.endpoint, all_, round.replica.slots().n, substance_);
      Trained& one = learners_[begun_];
      co_await copy(round.env(), one.state.all(), round.replica.w());
      co_await clear(round.env(), one.slots.all());
    }
  }

  Task<void> learn(TrainingRound& round, Trained& one) {
    co_await round.gradient_at(one.state.all());
    co_await correct(round, one);
    const auto samples = static_cast<double>(round.score().samples);
    if (samples > 0) co_await round.apply(one.state.all(), one.slots.all(), samples);
    trial_.samples += round.score().samples;
    co_await round.done();
  }

  // w_j <- w_j - c_j;   sum <- sum + c_j
  Task<void> correct(TrainingRound& round, Trained& one) {
    const double asked = settings_.alpha;
    const auto alpha = static_cast<float>(asked < 0 ? 1 / static_cast<double>(k_) : asked);
    const std::span<float> w = one.state.range(Elements(0), N_).data();
    const std::span<const float> z = round.model().data();
    const std::span<float> sum = sum_.all().data();
    ConservationProbe move(round);
    move.of(one.state.range(Elements(0), N_));
    move.of(sum_.all());
    const SliceWork work = [&](std::size_t from, std::size_t to) {
      for (std::size_t i = from; i < to; ++i) {
        const float c = alpha * (w[i] - z[i]);
        w[i] -= c;
        sum[i] += c;
      }
    };
    co_await in_slices(round.env(), Work::Update, N_.value(), w.empty(), Order::Forward, 2, work);
    move.alone();
  }

  Task<void> move_center(TrainingRound& round) {
    const auto mu =
        static_cast<float>(block_momentum(settings_.block_momentum, round.context.size()));
    const std::size_t parameters = round.replica.N.value();
    const std::span<float> z = round.model().data();
    const std::span<float> before = before_.all().data();
    const std::span<float> sum = sum_.all().data();
    ConservationProbe move(round);
    move.of(round.model());
    move.of(sum_.all());
    move.of(before_.range(Elements(0), round.replica.N), -mu);
    const SliceWork work = [&](std::size_t from, std::size_t to) {
      for (std::size_t i = from; i < to; ++i) {
        const float momentum = i < parameters ? mu * (z[i] - before[i]) : 0.0F;
        before[i] = z[i];
        z[i] += sum[i] + momentum;
        sum[i] = 0;
      }
    };
    co_await in_slices(round.env(), Work::Update, N_.value(), z.empty(), Order::Forward, 2, work);
    move.alone();
    // The first learner gives the state that has no mean.
    const Elements side = all_ - N_;
    co_await copy(round.env(), round.replica.w().slice(N_, side),
                  learners_.front().state.range(N_, side));
  }

  Task<void> meet_others(TrainingRound& round) {
    if (round.context.alone()) co_return;
    co_await round.context.with_others(
        mean_of_all(round.context, terms_.recipe.exchange, round.model(), mean_.all(), scratch()));
    const std::span<float> z = round.model().data();
    const std::span<float> before = before_.all().data();
    const std::span<const float> mean = mean_.all().data();
    ConservationProbe move(round);
    move.of(round.model());
    const SliceWork work = [&](std::size_t from, std::size_t to) {
      for (std::size_t i = from; i < to; ++i) {
        before[i] += mean[i] - z[i];
        z[i] = mean[i];
      }
    };
    co_await in_slices(round.env(), Work::Update, N_.value(), z.empty(), Order::Forward, 2, work);
    move.with_all(rounds_);
  }

  // ---- The number of learners, the same on all workers

  Task<void> tune(TrainingRound& round) {
    if (++trial_.rounds == 1) {
      trial_.samples = 0;
      trial_.begin = round.env().now();
    }
    if (trial_.rounds < kTrialRounds) co_return;
    const std::chrono::duration<double> took = round.env().now() - trial_.begin;
    rate_ = static_cast<double>(trial_.samples) / std::max(took.count(), 1e-9);
    co_await round.context.with_others(add_rates(round));
    const bool better = rate_ > kGain * trial_.best;
    if (better && k_ < kLearnersMost) {
      node_.env.probe("decentral: a learner more");
      ++k_;
      trial_ = Trial{.best = rate_};
    } else {
      if (!better) --k_;
      trial_.over = true;
    }
  }
  Task<void> add_rates(TrainingRound& round) {
    const std::vector<double> all =
        co_await gathering_.of_all(round.context.group, rate_, round.context.operations());
    rate_ = std::accumulate(all.begin(), all.end(), 0.0);
  }

  const Elements all_;            // of the state
  Arena sum_;                     // of the c_j of this round
  Arena before_;                  // z of the round before
  Arena mean_;                    // of all workers' z
  std::deque<Trained> learners_;  // the largest number so far
  std::size_t begun_ = 0;         // the number of learners that have a model
  std::size_t k_ = 1;             // the number of learners in use
  double eta_ = 0;                // the rate with which they began
  std::uint64_t rounds_ = 0;      // in this view
  Trial trial_;
  double rate_ = 0;
  Gathering gathering_;
};

}  // namespace

std::unique_ptr<DecentralAlgorithm> make_algorithm(const LearnersSettings& settings, Node& node,
                                                   const Learner& learner,
                                                   const DecentralTerms& terms) {
  return std::make_unique<CentralAverage>(settings, node, learner, terms);
}

}  // namespace shoal
