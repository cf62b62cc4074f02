// MPCA-SGD: models hear of the mean of all while they train, and are drawn to it. Langer, Hall, He,
// Rahayu, "MPCA SGD - A Method for Distributed Training of Deep Learning Models on Spark", IEEE
// TPDS 29(11), 2018, doi:10.1109/TPDS.2018.2833074.
//
//   worker i:
//     g <- gradient of  loss + lambda / 2 |w_i - e|^2;   w_i <- update(w_i, g)
//     every tau steps, if the answer to the last question has come:
//       m <- the answer;   e <- m + gamma (m - m');   m' <- m
//       w_i <- w_i + e - (the model that was sent)
//       send w_i to the master
//   master:  when the models of all have come:  send their mean to all
//
// Symbols: P workers, N parameters, lambda penalty, gamma extrapolation; m' the mean before; e
//   where the master is thought to be by now.
// Cost a step and worker: 2 N / tau values, and P times that at the master, which is the first
//   worker. Nobody waits: where the answer takes longer than tau steps, the next question does too.
// The result is the mean of all models.
// Deviations: the surveys that describe the system have no equations: these are ours. The master
//   sends to all, not by a tree.
// Failure: an exchange that a loss cuts off is left out.
#include <utility>
#include <vector>

#include "collective/dissemination.h"
#include "decentral/audit.h"
#include "decentral/post.h"
#include "decentral/rendezvous.h"
#include "runtime/slices.h"

namespace shoal {
namespace {

constexpr Rank kMaster{0};

class DrawnToMaster final : public Rendezvous {
 public:
  DrawnToMaster(Node& node, const Learner& learner, const DecentralTerms& terms)
      : Rendezvous(node, learner, terms),
        questions_(node, N_, substance_, kModel),
        answers_(node, N_, substance_, kAnswer),
        asked_(model_arena()),
        mean_(model_arena()),
        ahead_(model_arena()) {}

  Task<void> begin(Company& company, Range model, const Roll& roll) override {
    answered_ = 0;
    questions_.begin(company);
    answers_.begin(company);
    if (known_ && !roll.newcomers[company.group.rank.value()]) co_return;
    co_await copy(company.node.env, mean_.all(), model);
    co_await copy(company.node.env, ahead_.all(), model);
    known_ = true;
  }
  std::vector<OwnArray> own() override {
    std::vector<OwnArray> arrays;
    arrays.push_back({"mean", mean_.all()});
    arrays.push_back({"ahead", ahead_.all()});
    return arrays;
  }
  Task<void> resume(Company& company, std::optional<Range> result,
                    const std::vector<OwnArray>& own) override {
    (void)company, (void)result;
    known_ = own[0].came && own[1].came;
    co_return;
  }

  void view_over() override {
    questions_.view_over();
    answers_.view_over();
  }

  Task<void> run(Leg& leg) override {
    questions_.listen(leg, Keep::All);
    answers_.listen(leg, Keep::All);
    if (leg.company.group.rank == kMaster) leg.spawn(be_master(leg));
    under_way_ = false;
    exchanges_ = 0;
    std::uint32_t since = 0;
    while (true) {
      const bool more = co_await leg.next();
      if (!more) break;
      co_await leg.gradient();
      co_await penalize(leg);
      co_await leg.update();
      co_await leg.done();
      if (++since < terms_.peering.tau) continue;
      const std::optional<Letter> answer = answers_.next();
      if (answer) co_await follow(leg, *answer);
      if (under_way_) continue;
      co_await ask(leg);
      since = 0;
    }
    co_await finish(leg);
  }

 private:
  Task<void> penalize(Leg& leg) {
    const auto samples = static_cast<float>(leg.score().samples);
    const float lambda = static_cast<float>(terms_.peering.penalty) * samples;
    if (lambda == 0) co_return;
    const Range gradient = leg.replica.g().all();
    const std::span<float> g = gradient.data();
    const std::span<const float> w = leg.model().data();
    const std::span<const float> e = ahead_.all().data();
    const SliceWork work = [&](std::size_t from, std::size_t to) {
      for (std::size_t i = from; i < to; ++i) g[i] += lambda * (w[i] - e[i]);
    };
    co_await in_slices(leg.env(), Work::Update, gradient.n.value(), g.empty(), Order::Forward, 2,
                       work);
  }

  Task<void> ask(Leg& leg) {
    Post::Outgoing& letter = questions_.blank();
    co_await copy(leg.env(), letter.arena.all(), leg.model());
    co_await copy(leg.env(), asked_.all(), leg.model());
    questions_.send(leg, std::span(&kMaster, 1), letter, N_);
    under_way_ = true;
    ++exchanges_;
  }

  Task<void> follow(Leg& leg, const Letter& answer) {
    const auto gamma = static_cast<float>(terms_.peering.extrapolate);
    const std::span<const float> m = answer.numbers(N_);
    const std::span<float> before = mean_.all().data();
    const std::span<float> e = ahead_.all().data();
    const std::span<const float> sent = asked_.all().data();
    const std::span<float> w = leg.model().data();
    Move move(leg);
    move.of(leg.model());
    move.of(mean_.all(), -terms_.peering.extrapolate);
    const SliceWork work = [&](std::size_t from, std::size_t to) {
      for (std::size_t i = from; i < to; ++i) {
        e[i] = m[i] + gamma * (m[i] - before[i]);
        before[i] = m[i];
        w[i] += e[i] - sent[i];
      }
    };
    co_await in_slices(leg.env(), Work::Update, N_.value(), w.empty(), Order::Forward, 3, work);
    move.with_all(answered_++);
    under_way_ = false;
  }

  Task<void> be_master(Leg& leg) {
    std::vector<Rank> all;
    for (std::uint32_t r = 0; r < leg.company.size(); ++r) all.emplace_back(r);
    while (true) {
      Post::Outgoing& mean = answers_.blank();
      co_await clear(leg.env(), mean.arena.all());
      for (const Rank r : all) {
        const Letter model = co_await questions_.next_from(leg, r);
        co_await mix(leg.env(), mean.arena.all(), 1, model.numbers(N_),
                     1 / static_cast<double>(all.size()));
      }
      answers_.send(leg, all, mean, N_);
    }
  }

  // At the end of a leg all have asked equally often, and got every answer.
  Task<void> finish(Leg& leg) {
    co_await leg.company.with_others(count_exchanges(leg));
    while (true) {
      if (under_way_) {
        const Letter answer = co_await answers_.next_from(leg, kMaster);
        co_await follow(leg, answer);
      }
      if (exchanges_ == most_) break;
      co_await ask(leg);
    }
    co_await questions_.until_all_sent(leg);
    co_await answers_.until_all_sent(leg);
  }
  Task<void> count_exchanges(Leg& leg) {
    const std::vector<std::uint64_t> all =
        co_await gathering_.of_all(leg.company.group, exchanges_, leg.company.operations());
    most_ = *std::ranges::max_element(all);
  }

  Post questions_, answers_;
  Arena asked_;                  // the model that was sent
  Arena mean_;                   // of all, as last heard
  Arena ahead_;                  // where it is thought to be
  bool known_ = false;           // something of both
  bool under_way_ = false;       // a question without an answer
  std::uint64_t exchanges_ = 0;  // begun in this leg
  std::uint64_t most_ = 0;       // by anybody
  std::uint64_t answered_ = 0;   // in this view
  Gathering gathering_;
};

}  // namespace

std::unique_ptr<Rendezvous> make_master(Node& node, const Learner& learner,
                                        const DecentralTerms& terms) {
  return std::make_unique<DrawnToMaster>(node, learner, terms);
}

}  // namespace shoal
