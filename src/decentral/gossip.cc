// Gossip SGD: a worker sends its model to a random peer, which mixes it in by weight. Blot et al.
// 2016 (GoSGD), arXiv:1611.09726; the weights are those of push-sum, Kempe, Dobra, Gehrke, FOCS
// 2003.
//
//   worker i, a_i = 1 / P at first; after each step:
//     for each (w_s, a_s) that has come:
//       w_i <- (a_i w_i + a_s w_s) / (a_i + a_s);   a_i <- a_i + a_s
//     with probability p:
//       a_i <- a_i / 2;   send (w_i, a_i) to a random peer of the topology
//
// Symbols: P workers, N parameters, a_i weight of a model, p probability to send.
// Cost a step and worker: p N values sent, and as many received; no worker waits. A peer that has
//   not received the last model yet is not sent another.
// Invariant: the weights of all models, including those under way, add up to 1; an exchange does
//   not change the sum of a_i w_i over all of them.
// The result is the sum of a_i w_i over all.
// Failure: the weights of lost workers, and of messages under way when a view ended, are
//   compensated: the weights of the remaining workers are scaled to a sum of 1. A newcomer gets the
//   mean weight.
#include "decentral/gossip.h"

#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "base/random.h"
#include "collective/dissemination.h"
#include "collective/exchange.h"
#include "decentral/algorithm.h"
#include "decentral/async_sender.h"
#include "decentral/audit.h"

namespace shoal {
namespace {

constexpr Elements kWeightElements{sizeof(double) / sizeof(float)};

class Gossip final : public AlgorithmOf<GossipSettings> {
 public:
  Gossip(const GossipSettings& settings, Node& node, const Learner& learner,
         const DecentralTerms& terms)
      : AlgorithmOf(settings, node, learner, terms),
        sender_(node, N_ + kWeightElements, substance_),
        kept_weight_(node.endpoint, kWeightElements, substance_) {}

  Task<void> begin(ViewContext& context, Range model, const MembershipSnapshot& snapshot) override {
    (void)model;
    sender_.begin(context);
    const std::uint32_t own = context.group.rank.value();
    const double told = snapshot.newcomers[own] ? 0 : weight_;
    const std::vector<double> all =
        co_await gathering_.of_all(context.group, told, context.operations());
    const auto have =
        static_cast<double>(std::ranges::count_if(all, [](double a) { return a > 0; }));
    const double sum = std::accumulate(all.begin(), all.end(), 0.0);
    const double mean = have > 0 ? sum / have : 1;
    const double total = sum + mean * (static_cast<double>(all.size()) - have);
    weight_ = (told > 0 ? told : mean) / total;
    note(context, EventKind::WeightHeld, kNobody, weight_);
  }

  std::vector<PerWorkerArray> own() override {
    const std::span<float> room = kept_weight_.all().data();
    if (!room.empty()) std::memcpy(room.data(), &weight_, sizeof(weight_));
    std::vector<PerWorkerArray> arrays;
    arrays.push_back({"weight", kept_weight_.all()});
    return arrays;
  }
  Task<void> resume(ViewContext& context, std::optional<Range> result,
                    const std::vector<PerWorkerArray>& own) override {
    (void)context, (void)result;
    const std::span<const float> room = kept_weight_.all().data();
    if (own[0].came) std::memcpy(&weight_, room.data(), sizeof(weight_));
    co_return;
  }

  void view_over() override { sender_.view_over(); }

  Task<void> run(TrainingRound& round) override {
    sender_.listen(round, Keep::All);
    Random random = round.env().random(Purpose::Gossip, node_.id.value(), round.t().value() << 8U);
    while (true) {
      const bool more = co_await round.next();
      if (!more) break;
      co_await round.step();
      co_await mix_in(round);
      if (random.chance(settings_.probability)) co_await send_to_somebody(round, random);
    }
    co_await sender_.until_all_came(round);
    co_await mix_in(round);
    co_await sender_.until_all_sent(round);
  }

  Task<void> result(ViewContext& context, Range model, Range out) override {
    const std::uint64_t operation = context.operations(pieces_of(model.n, kModelPiece));
    co_await copy(context.node.env, out, model);
    if (context.alone()) co_return;
    co_await mix(context.node.env, out, weight_, out, 0);
    co_await all_reduce_in_pieces(terms_.recipe.exchange, context.group, out, sum(), scratch(),
                                  operation, kModelPiece);
    co_await copy(context.node.env, out, sum());
  }

 private:
  void note(ViewContext& context, EventKind kind, NodeId peer, double weight) const {
    if (terms_.task.audit) note_weight(context, kind, peer, weight, weight_);
  }

  Range sum() {
    if (!sum_) sum_.emplace(node_.endpoint, N_, substance_);
    return sum_->all();
  }

  Task<void> send_to_somebody(TrainingRound& round, Random& random) {
    const Graph graph =
        graph_of(settings_.topology, round.context.size(), round.env().seed(), round.t().value());
    const std::vector<Rank>& peers = graph[round.context.group.rank.value()];
    if (peers.empty()) co_return;
    const Rank to = peers[random.below(peers.size())];
    if (sender_.under_way(to)) co_return;
    AsyncSender::Outgoing& message = sender_.blank();
    weight_ /= 2;
    co_await copy(round.env(), message.arena.range(Elements(0), N_), round.model());
    const std::span<float> room = message.arena.range(N_, kWeightElements).data();
    if (!room.empty()) std::memcpy(room.data(), &weight_, sizeof(weight_));
    note(round.context, EventKind::WeightSent, round.context.group.view->at(to), weight_);
    sender_.send(round, std::span(&to, 1), message, N_ + kWeightElements);
  }

  Task<void> mix_in(TrainingRound& round) {
    while (true) {
      const std::optional<ReceivedModel> message = sender_.next();
      if (!message) co_return;
      const std::span<const float> theirs = message->numbers(N_ + kWeightElements);
      double weight = weight_;
      if (!theirs.empty()) std::memcpy(&weight, theirs.data() + N_.value(), sizeof(weight));
      const double both = weight_ + weight;
      ConservationProbe move(round);
      move.of(round.model(), both);
      move.add(round.model().data(), weight);
      move.add(theirs.first(theirs.empty() ? 0 : N_.value()), -weight);
      co_await mix(round.env(), round.model(), weight_ / both, theirs, weight / both);
      weight_ = both;
      move.alone();
      note(round.context, EventKind::WeightTaken, round.context.group.view->at(message->from),
           weight);
    }
  }

  double weight_ = 0;  // a_i; 0: unknown
  AsyncSender sender_;
  Arena kept_weight_;  // for checkpoints
  Gathering gathering_;
  std::optional<Arena> sum_;
};

}  // namespace

std::unique_ptr<DecentralAlgorithm> make_algorithm(const GossipSettings& settings, Node& node,
                                                   const Learner& learner,
                                                   const DecentralTerms& terms) {
  return std::make_unique<Gossip>(settings, node, learner, terms);
}

}  // namespace shoal
