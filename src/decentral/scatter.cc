// MALT: a worker sends its model to a few others, and each of them averages the models it has
// received. Li, Kadav, Kruus, Ungureanu, "MALT: Distributed Data-Parallelism for Existing ML
// Applications", EuroSys 2015.
//
//   worker i, at its own pace:
//     w_i <- update(w_i, g_i)
//     every tau steps:
//       scatter:  send w_i to those that it has edges to
//       gather:   w_i <- mean of w_i and the newest model of each sender that has come since
//
// In step, a worker waits in gather for this step's model of every sender, which is the paper's
// bulk-synchronous mode.
//
// Symbols: P workers, N parameters; the graph follows the Halton sequence, with ceil(log2 P) edges
//   out of each worker (topology.h).
// Cost a step and worker: ceil(log2 P) N / tau values; no worker waits. A receiver that has not got
//   the last model yet is left out: a slow link loses models, not time.
// The result is the mean of all models.
// Deviations: the paper's replicas may scatter gradients as well; those are parts.cc and stream.cc.
// Failure: messages under way are lost; the graph of the next view consists of its members only.
#include "decentral/scatter.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "collective/topology.h"
#include "decentral/algorithm.h"
#include "decentral/async_sender.h"
#include "runtime/slices.h"

namespace shoal {
namespace {

class ScatterGather final : public AlgorithmOf<ScatterSettings> {
 public:
  ScatterGather(const ScatterSettings& settings, Node& node, const Learner& learner,
                const DecentralTerms& terms)
      : AlgorithmOf(settings, node, learner, terms), sender_(node, N_, substance_) {}

  Task<void> begin(ViewContext& context, Range model, const MembershipSnapshot& snapshot) override {
    (void)model, (void)snapshot;
    sender_.begin(context);
    co_return;
  }
  void view_over() override { sender_.view_over(); }

  Task<void> run(TrainingRound& round) override {
    sender_.listen(round, in_step() ? Keep::All : Keep::Newest);
    while (true) {
      const bool more = co_await round.next();
      if (!more) break;
      co_await round.step();
      if (round.t().value() % settings_.local_steps != 0) continue;
      const Graph graph = graph_of(settings_.topology, round.context.size(), round.env().seed(),
                                   round.t().value() / settings_.local_steps);
      co_await scatter(round, graph);
      co_await gather(round, graph);
    }
    co_await sender_.until_all_came(round);
    std::vector<ReceivedModel> rest = take_all();
    co_await average(round, std::move(rest));
    co_await sender_.until_all_sent(round);
  }

 private:
  bool in_step() const { return settings_.pace == WorkerPace::Sync; }

  Task<void> scatter(TrainingRound& round, const Graph& graph) {
    std::vector<Rank> to = graph[round.context.group.rank.value()];
    if (!in_step()) std::erase_if(to, [&](Rank r) { return sender_.under_way(r); });
    if (to.empty()) co_return;
    AsyncSender::Outgoing& message = sender_.blank();
    co_await copy(round.env(), message.arena.all(), round.model());
    sender_.send(round, to, message, N_);
  }

  Task<void> gather(TrainingRound& round, const Graph& graph) {
    std::vector<ReceivedModel> messages;
    for (std::uint32_t r = 0; in_step() && r < graph.size(); ++r) {
      if (!std::ranges::binary_search(graph[r], round.context.group.rank)) continue;
      ReceivedModel message = co_await sender_.next_from(round, Rank(r));
      messages.push_back(std::move(message));
    }
    if (!in_step()) messages = take_all();
    co_await average(round, std::move(messages));
  }

  std::vector<ReceivedModel> take_all() {
    std::vector<ReceivedModel> messages;
    while (std::optional<ReceivedModel> message = sender_.next())
      messages.push_back(std::move(*message));
    return messages;
  }

  Task<void> average(TrainingRound& round, std::vector<ReceivedModel> messages) {
    if (messages.empty()) co_return;
    std::vector<std::span<const float>> others;
    for (const ReceivedModel& message : messages) others.push_back(message.numbers(N_));
    const float share = 1 / static_cast<float>(1 + others.size());
    const std::span<float> w = round.model().data();
    const SliceWork work = [&](std::size_t from, std::size_t to) {
      for (const std::span<const float> other : others)
        for (std::size_t i = from; i < to; ++i) w[i] += other[i];
      for (std::size_t i = from; i < to; ++i) w[i] *= share;
    };
    co_await in_slices(round.env(), Work::Update, N_.value(), w.empty(), Order::Forward,
                       static_cast<double>(1 + others.size()), work);
  }

  AsyncSender sender_;
};

}  // namespace

std::unique_ptr<DecentralAlgorithm> make_algorithm(const ScatterSettings& settings, Node& node,
                                                   const Learner& learner,
                                                   const DecentralTerms& terms) {
  return std::make_unique<ScatterGather>(settings, node, learner, terms);
}

}  // namespace shoal
