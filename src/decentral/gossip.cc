// Gossip SGD: a model is sent to somebody, who mixes it in by weight. Blot et al. 2016 (GoSGD),
// arXiv:1611.09726; the weights are those of push-sum, Kempe, Dobra, Gehrke, FOCS 2003.
//
//   worker i, a_i = 1 / P at first; after each step:
//     for each (w_s, a_s) that has come:
//       w_i <- (a_i w_i + a_s w_s) / (a_i + a_s);   a_i <- a_i + a_s
//     with probability p:
//       a_i <- a_i / 2;   send (w_i, a_i) to a random peer of the topology
//
// Symbols: P workers, N parameters, a_i weight of a model, p chance to send.
// Cost a step and worker: p N values, and as many received; nobody waits.
// Invariant: the weights of all models, those on their way included, add up to 1, and so do
//   a_i w_i to the same sum before and after an exchange.
// The result is the sum of a_i w_i over all.
// Failure: what a lost worker had, and what was on its way when a view ended, is made good for: the
//   weights of those who are here are scaled to a sum of 1. A newcomer has a mean weight.
#include <cstring>
#include <deque>
#include <numeric>
#include <utility>
#include <vector>

#include "base/random.h"
#include "collective/dissemination.h"
#include "collective/exchange.h"
#include "decentral/rendezvous.h"

namespace shoal {
namespace {

constexpr Elements kWeightElements{sizeof(double) / sizeof(float)};

class Gossip final : public Rendezvous {
 public:
  using Rendezvous::Rendezvous;

  Task<void> begin(Company& company, Range model, const Roll& roll) override {
    (void)model;
    sent_.assign(company.size(), 0);
    received_.assign(company.size(), 0);
    const std::uint32_t own = company.group.rank.value();
    const double told = roll.newcomers[own] ? 0 : weight_;
    const std::vector<double> all =
        co_await gathering_.of_all(company.group, told, company.operations());
    const auto have =
        static_cast<double>(std::ranges::count_if(all, [](double a) { return a > 0; }));
    const double sum = std::accumulate(all.begin(), all.end(), 0.0);
    const double mean = have > 0 ? sum / have : 1;
    const double total = sum + mean * (static_cast<double>(all.size()) - have);
    weight_ = (told > 0 ? told : mean) / total;
  }

  void view_over() override { came_.clear(); }

  Task<void> run(Leg& leg) override {
    leg.spawn(take_messages(leg));
    Random random = leg.env().random(Purpose::Gossip, node_.id.value(), leg.t().value() << 8U);
    while (true) {
      const bool more = co_await leg.next();
      if (!more) break;
      co_await leg.step();
      co_await mix_in(leg);
      if (random.chance(terms_.peering.gossip)) co_await send_to_somebody(leg, random);
    }
    co_await leg.company.with_others(until_all_came(leg));
    co_await mix_in(leg);
  }

  Task<void> result(Company& company, Range model, Range out) override {
    const std::uint64_t operation = company.operations(pieces_of(model.n, kPieceOfSum));
    co_await copy(company.node.env, out, model);
    if (company.alone()) co_return;
    co_await mix(company.node.env, out, weight_, out, 0);
    co_await all_reduce_in_pieces(terms_.exchange, company.group, out, sum(), scratch(), operation,
                                  kPieceOfSum);
    co_await copy(company.node.env, out, sum());
  }

 private:
  static constexpr Elements kPieceOfSum{1U << 18U};
  struct Outgoing {
    Outgoing(Endpoint& endpoint, Elements n, Substance substance) : arena(endpoint, n, substance) {}
    Arena arena;
    bool busy = false;
  };

  Range sum() {
    if (!sum_) sum_.emplace(node_.endpoint, N_, substance_);
    return sum_->all();
  }

  Task<void> send_to_somebody(Leg& leg, Random& random) {
    const Graph graph =
        graph_of(terms_.peering.topology, leg.company.size(), leg.env().seed(), leg.t().value());
    const std::vector<Rank>& peers = graph[leg.company.group.rank.value()];
    if (peers.empty()) co_return;
    const Rank to = peers[random.below(peers.size())];
    Outgoing& out = free_outgoing();
    out.busy = true;
    weight_ /= 2;
    co_await copy(leg.env(), out.arena.range(Elements(0), N_), leg.model());
    const std::span<float> room = out.arena.range(N_, kWeightElements).data();
    if (!room.empty()) std::memcpy(room.data(), &weight_, sizeof(weight_));
    ++sent_[to.value()];
    leg.spawn(send(leg, to, out));
  }
  Task<void> send(Leg& leg, Rank to, Outgoing& out) {
    co_await leg.company.publish(leg.company.group.view->at(to), leg.company.tag(kModel),
                                 out.arena.bytes());
    out.busy = false;
  }
  // Those that are still read by somebody are left alone.
  Outgoing& free_outgoing() {
    for (Outgoing& out : outgoing_)
      if (!out.busy) return out;
    return outgoing_.emplace_back(node_.endpoint, N_ + kWeightElements, substance_);
  }

  Task<void> take_messages(Leg& leg) {
    const Match match{.tag = leg.company.tag(kModel)};
    const Bytes size((N_ + kWeightElements).value() * sizeof(float));
    while (true) {
      Reading message = co_await leg.company.read(match, size);
      const std::optional<Rank> rank = leg.company.group.view->rank_of(message.from());
      if (!rank) continue;
      ++received_[rank->value()];
      came_.push_back(std::move(message));
      changed_.notify_all();
    }
  }

  Task<void> mix_in(Leg& leg) {
    while (!came_.empty()) {
      const Reading message = std::move(came_.front());
      came_.pop_front();
      const std::span<const float> theirs = numbers_of(message, N_ + kWeightElements);
      double weight = weight_;
      if (!theirs.empty()) std::memcpy(&weight, theirs.data() + N_.value(), sizeof(weight));
      const double both = weight_ + weight;
      co_await mix(leg.env(), leg.model(), weight_ / both, theirs, weight / both);
      weight_ = both;
    }
  }

  // What others have sent in this leg is here.
  Task<void> until_all_came(Leg& leg) {
    const std::span<const std::uint64_t> own = sent_;
    const std::vector<std::uint64_t> all =
        co_await gathering_.of_all(leg.company.group, own, leg.company.operations());
    const std::uint64_t P = leg.company.size();
    const std::uint32_t rank = leg.company.group.rank.value();
    for (std::uint64_t r = 0; r < P; ++r)
      while (received_[r] < all[r * P + rank]) co_await changed_.wait();
  }

  double weight_ = 0;  // a_i; 0: not known yet
  std::deque<Reading> came_;
  std::deque<Outgoing> outgoing_;
  std::vector<std::uint64_t> sent_, received_;  // in this view, by rank
  Gathering gathering_;
  std::optional<Arena> sum_;
  Signal changed_;
};

}  // namespace

std::unique_ptr<Rendezvous> make_gossip(Node& node, const Learner& learner,
                                        const DecentralTerms& terms) {
  return std::make_unique<Gossip>(node, learner, terms);
}

}  // namespace shoal
