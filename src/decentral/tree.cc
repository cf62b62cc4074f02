// Elastic averaging in a tree. Zhang, "Distributed Stochastic Optimization for Deep Learning",
// PhD thesis, New York University 2016, arXiv:1605.02216 (EASGD Tree).
//
//   worker i, at its own pace:
//     w_i <- update(w_i, g_i)
//     every tau_up steps:     send w_i to its parent
//     every tau_down steps:   send w_i to its children
//     for each w_s that has come:   w_i <- w_i + alpha (w_s - w_i)
//
// Only the receiver moves. In step, a worker waits for this step's models from its neighbours in
// the tree, and takes its parent's first. The children of worker r are 2 r + 1 and 2 r + 2.
//
// Symbols: P workers, N parameters, alpha moving rate, by default 0.9 / 3, because a model has at
//   most three neighbours.
// Cost a step and worker: N / tau_up values up, 2 N / tau_down down, for any P; no worker waits. A
//   receiver that has not got the last model yet is left out.
// The result is the model of the root.
// Deviations: in the thesis only leaves train; here all nodes do, as in the survey of Langer et al.
//   2020.
// Failure: the tree of the next view consists of its members only. A lost root takes with it the
//   changes that it had not passed on.
#include "decentral/tree.h"

#include <utility>
#include <vector>

#include "collective/tree.h"
#include "decentral/algorithm.h"
#include "decentral/async_sender.h"

namespace shoal {
namespace {

// In a tree the number of those that a model meets does not grow with the number of all.
constexpr double kAlpha = 0.9 / 3;

class ElasticTree final : public AlgorithmOf<TreeSettings> {
 public:
  ElasticTree(const TreeSettings& settings, Node& node, const Learner& learner,
              const DecentralTerms& terms)
      : AlgorithmOf(settings, node, learner, terms), sender_(node, N_, substance_) {}

  Task<void> begin(ViewContext& context, Range model, const MembershipSnapshot& snapshot) override {
    (void)model, (void)snapshot;
    sender_.begin(context);
    const std::uint32_t own = context.group.rank.value();
    up_.clear();
    down_.clear();
    if (own > 0) up_.emplace_back((own - 1) / 2);
    for (std::uint32_t child = 2 * own + 1; child <= 2 * own + 2; ++child)
      if (child < context.size()) down_.emplace_back(child);
    alpha_ = settings_.alpha >= 0 ? settings_.alpha : kAlpha;
    co_return;
  }
  void view_over() override { sender_.view_over(); }

  Task<void> run(TrainingRound& round) override {
    sender_.listen(round, Keep::All);
    while (true) {
      const bool more = co_await round.next();
      if (!more) break;
      co_await round.step();
      const bool upwards = round.t().value() % tau_up() == 0;
      const bool downwards = round.t().value() % tau_down() == 0;
      if (upwards) co_await send(round, up_);
      if (downwards) co_await send(round, down_);
      if (!in_step()) {
        co_await follow_all(round);
        continue;
      }
      if (downwards) co_await follow_each(round, up_);
      if (upwards) co_await follow_each(round, down_);
    }
    co_await sender_.until_all_came(round);
    co_await follow_all(round);
    co_await sender_.until_all_sent(round);
  }

  Task<void> result(ViewContext& context, Range model, Range out) override {
    const std::uint64_t operation = context.operations();
    co_await copy(context.node.env, out, model);
    if (!context.alone()) co_await tree_broadcast(context.group, Rank(0), out, operation);
  }

 private:
  bool in_step() const { return settings_.pace == WorkerPace::Sync; }
  std::uint32_t tau_up() const { return settings_.local_steps; }
  std::uint32_t tau_down() const {
    return settings_.local_steps_down > 0 ? settings_.local_steps_down : settings_.local_steps;
  }

  Task<void> send(TrainingRound& round, std::vector<Rank> to) {
    if (!in_step()) std::erase_if(to, [&](Rank r) { return sender_.under_way(r); });
    if (to.empty()) co_return;
    AsyncSender::Outgoing& message = sender_.blank();
    co_await copy(round.env(), message.arena.all(), round.model());
    sender_.send(round, to, message, N_);
  }

  Task<void> follow(TrainingRound& round, const ReceivedModel& message) {
    return mix(round.env(), round.model(), 1 - alpha_, message.numbers(N_), alpha_);
  }
  Task<void> follow_each(TrainingRound& round, const std::vector<Rank>& senders) {
    for (const Rank r : senders) {
      const ReceivedModel message = co_await sender_.next_from(round, r);
      co_await follow(round, message);
    }
  }
  Task<void> follow_all(TrainingRound& round) {
    while (true) {
      const std::optional<ReceivedModel> message = sender_.next();
      if (!message) co_return;
      co_await follow(round, *message);
    }
  }

  AsyncSender sender_;
  std::vector<Rank> up_, down_;  // the ranks to which it has edges
  double alpha_ = 0;
};

}  // namespace

std::unique_ptr<DecentralAlgorithm> make_algorithm(const TreeSettings& settings, Node& node,
                                                   const Learner& learner,
                                                   const DecentralTerms& terms) {
  return std::make_unique<ElasticTree>(settings, node, learner, terms);
}

}  // namespace shoal
