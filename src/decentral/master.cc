// MPCA-SGD: models are pulled to an estimate of the mean of all models, which a master sends while
// they train. Langer, Hall, He, Rahayu, "MPCA SGD - A Method for Distributed Training of Deep
// Learning Models on Spark", IEEE TPDS 29(11), 2018, doi:10.1109/TPDS.2018.2833074.
//
//   worker i:
//     g <- gradient of  loss + lambda / 2 |w_i - e|^2;   w_i <- update(w_i, g)
//     every tau steps, if the answer to the last question has come:
//       m <- the answer;   e <- m + gamma (m - m');   m' <- m
//       w_i <- w_i + e - (the model that was sent)
//       send w_i to the master
//   master:  when the models of all have come:  send their mean to all
//
// Symbols: P workers, N parameters, lambda penalty, gamma extrapolation; m' the previous mean; e
//   the estimated mean by now.
// Cost a step and worker: 2 N / tau values, and P times that at the master, which is the first
//   worker. Nobody waits: if an answer takes longer than tau steps, the next question is delayed.
// The result is the mean of all models.
// Deviations: the surveys that describe the system give no equations: these are ours. The master
//   sends to all, not by a tree.
// Failure: an exchange that a loss interrupts is left out.
#include "decentral/master.h"

#include <utility>
#include <vector>

#include "collective/dissemination.h"
#include "decentral/algorithm.h"
#include "decentral/async_sender.h"
#include "decentral/audit.h"
#include "runtime/slices.h"

namespace shoal {
namespace {

constexpr Rank kMaster{0};

class DrawnToMaster final : public AlgorithmOf<MasterSettings> {
 public:
  DrawnToMaster(const MasterSettings& settings, Node& node, const Learner& learner,
                const DecentralTerms& terms)
      : AlgorithmOf(settings, node, learner, terms),
        questions_(node, N_, substance_, kModel),
        answers_(node, N_, substance_, kAnswer),
        asked_(model_arena()),
        mean_(model_arena()),
        ahead_(model_arena()) {}

  Task<void> begin(ViewContext& context, Range model, const MembershipSnapshot& snapshot) override {
    answered_ = 0;
    questions_.begin(context);
    answers_.begin(context);
    if (known_ && !snapshot.newcomers[context.group.rank.value()]) co_return;
    co_await copy(context.node.env, mean_.all(), model);
    co_await copy(context.node.env, ahead_.all(), model);
    known_ = true;
  }
  std::vector<PerWorkerArray> own() override {
    std::vector<PerWorkerArray> arrays;
    arrays.push_back({"mean", mean_.all()});
    arrays.push_back({"ahead", ahead_.all()});
    return arrays;
  }
  Task<void> resume(ViewContext& context, std::optional<Range> result,
                    const std::vector<PerWorkerArray>& own) override {
    (void)context, (void)result;
    known_ = own[0].came && own[1].came;
    co_return;
  }

  void view_over() override {
    questions_.view_over();
    answers_.view_over();
  }

  Task<void> run(TrainingRound& round) override {
    questions_.listen(round, Keep::All);
    answers_.listen(round, Keep::All);
    if (round.context.group.rank == kMaster) round.spawn(be_master(round));
    under_way_ = false;
    exchanges_ = 0;
    std::uint32_t since = 0;
    while (true) {
      const bool more = co_await round.next();
      if (!more) break;
      co_await round.gradient();
      co_await penalize(round);
      co_await round.update();
      co_await round.done();
      if (++since < settings_.local_steps) continue;
      const std::optional<ReceivedModel> answer = answers_.next();
      if (answer) co_await follow(round, *answer);
      if (under_way_) continue;
      co_await ask(round);
      since = 0;
    }
    co_await finish(round);
  }

 private:
  Task<void> penalize(TrainingRound& round) {
    const auto samples = static_cast<float>(round.score().samples);
    const float lambda = static_cast<float>(settings_.penalty) * samples;
    if (lambda == 0) co_return;
    const Range gradient = round.replica.g().all();
    const std::span<float> g = gradient.data();
    const std::span<const float> w = round.model().data();
    const std::span<const float> e = ahead_.all().data();
    const SliceWork work = [&](std::size_t from, std::size_t to) {
      for (std::size_t i = from; i < to; ++i) g[i] += lambda * (w[i] - e[i]);
    };
    co_await in_slices(round.env(), Work::Update, gradient.n.value(), g.empty(), Order::Forward, 2,
                       work);
  }

  Task<void> ask(TrainingRound& round) {
    AsyncSender::Outgoing& message = questions_.blank();
    co_await copy(round.env(), message.arena.all(), round.model());
    co_await copy(round.env(), asked_.all(), round.model());
    questions_.send(round, std::span(&kMaster, 1), message, N_);
    under_way_ = true;
    ++exchanges_;
  }

  Task<void> follow(TrainingRound& round, const ReceivedModel& answer) {
    const auto gamma = static_cast<float>(settings_.extrapolate);
    const std::span<const float> m = answer.numbers(N_);
    const std::span<float> before = mean_.all().data();
    const std::span<float> e = ahead_.all().data();
    const std::span<const float> sent = asked_.all().data();
    const std::span<float> w = round.model().data();
    ConservationProbe move(round);
    move.of(round.model());
    move.of(mean_.all(), -settings_.extrapolate);
    const SliceWork work = [&](std::size_t from, std::size_t to) {
      for (std::size_t i = from; i < to; ++i) {
        e[i] = m[i] + gamma * (m[i] - before[i]);
        before[i] = m[i];
        w[i] += e[i] - sent[i];
      }
    };
    co_await in_slices(round.env(), Work::Update, N_.value(), w.empty(), Order::Forward, 3, work);
    move.with_all(answered_++);
    under_way_ = false;
  }

  Task<void> be_master(TrainingRound& round) {
    std::vector<Rank> all;
    for (std::uint32_t r = 0; r < round.context.size(); ++r) all.emplace_back(r);
    while (true) {
      AsyncSender::Outgoing& mean = answers_.blank();
      co_await clear(round.env(), mean.arena.all());
      for (const Rank r : all) {
        const ReceivedModel model = co_await questions_.next_from(round, r);
        co_await mix(round.env(), mean.arena.all(), 1, model.numbers(N_),
                     1 / static_cast<double>(all.size()));
      }
      answers_.send(round, all, mean, N_);
    }
  }

  // At the end of a round all have asked equally often, and received every answer.
  Task<void> finish(TrainingRound& round) {
    co_await round.context.with_others(count_exchanges(round));
    while (true) {
      if (under_way_) {
        const ReceivedModel answer = co_await answers_.next_from(round, kMaster);
        co_await follow(round, answer);
      }
      if (exchanges_ == most_) break;
      co_await ask(round);
    }
    co_await questions_.until_all_sent(round);
    co_await answers_.until_all_sent(round);
  }
  Task<void> count_exchanges(TrainingRound& round) {
    const std::vector<std::uint64_t> all =
        co_await gathering_.of_all(round.context.group, exchanges_, round.context.operations());
    most_ = *std::ranges::max_element(all);
  }

  AsyncSender questions_, answers_;
  Arena asked_;                  // the model that was sent last
  Arena mean_;                   // of all models, as last received
  Arena ahead_;                  // e, the estimated mean by now
  bool known_ = false;           // mean_ and ahead_ are set
  bool under_way_ = false;       // a question is unanswered
  std::uint64_t exchanges_ = 0;  // begun in this round
  std::uint64_t most_ = 0;       // the most by any worker
  std::uint64_t answered_ = 0;   // in this view
  Gathering gathering_;
};

}  // namespace

std::unique_ptr<DecentralAlgorithm> make_algorithm(const MasterSettings& settings, Node& node,
                                                   const Learner& learner,
                                                   const DecentralTerms& terms) {
  return std::make_unique<DrawnToMaster>(settings, node, learner, terms);
}

}  // namespace shoal
