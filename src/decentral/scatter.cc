// MALT: a model is sent to a few others, each of whom averages what has come. Li, Kadav, Kruus,
// Ungureanu, "MALT: Distributed Data-Parallelism for Existing ML Applications", EuroSys 2015.
//
//   worker i, at its own pace:
//     w_i <- update(w_i, g_i)
//     every tau steps:
//       scatter:  send w_i to those that it has edges to
//       gather:   w_i <- mean of w_i and the newest model of each sender that has come since
//
// In step a worker waits in gather for the model of this step of each that has an edge to it, which
// is the paper's bulk-synchronous mode.
//
// Symbols: P workers, N parameters; the graph is that of the Halton sequence, with ceil(log2 P)
//   edges out of each worker (topology.h).
// Cost a step and worker: ceil(log2 P) N / tau values; nobody waits. Whoever has not got the last
//   model yet is left out: a slow link costs models, not time.
// The result is the mean of all models.
// Deviations: the paper's replicas may scatter gradients as well; those are parts.cc and stream.cc.
// Failure: what was under way is lost; the graph of the next view is of its members alone.
#include <algorithm>
#include <utility>
#include <vector>

#include "collective/topology.h"
#include "decentral/post.h"
#include "decentral/rendezvous.h"
#include "runtime/slices.h"

namespace shoal {
namespace {

class ScatterGather final : public Rendezvous {
 public:
  ScatterGather(Node& node, const Learner& learner, const DecentralTerms& terms)
      : Rendezvous(node, learner, terms), post_(node, N_, substance_) {}

  Task<void> begin(Company& company, Range model, const Roll& roll) override {
    (void)model, (void)roll;
    post_.begin(company);
    co_return;
  }
  void view_over() override { post_.view_over(); }

  Task<void> run(Leg& leg) override {
    post_.listen(leg, in_step() ? Keep::All : Keep::Newest);
    while (true) {
      const bool more = co_await leg.next();
      if (!more) break;
      co_await leg.step();
      if (leg.t().value() % terms_.peering.tau != 0) continue;
      const Graph graph = graph_of(terms_.peering.topology, leg.company.size(), leg.env().seed(),
                                   leg.t().value() / terms_.peering.tau);
      co_await scatter(leg, graph);
      co_await gather(leg, graph);
    }
    co_await post_.until_all_came(leg);
    std::vector<Letter> rest = take_all();
    co_await average(leg, std::move(rest));
    co_await post_.until_all_sent(leg);
  }

 private:
  bool in_step() const { return terms_.peering.in_step; }

  Task<void> scatter(Leg& leg, const Graph& graph) {
    std::vector<Rank> to = graph[leg.company.group.rank.value()];
    if (!in_step()) std::erase_if(to, [&](Rank r) { return post_.under_way(r); });
    if (to.empty()) co_return;
    Post::Outgoing& letter = post_.blank();
    co_await copy(leg.env(), letter.arena.all(), leg.model());
    post_.send(leg, to, letter, N_);
  }

  Task<void> gather(Leg& leg, const Graph& graph) {
    std::vector<Letter> letters;
    for (std::uint32_t r = 0; in_step() && r < graph.size(); ++r) {
      if (!std::ranges::binary_search(graph[r], leg.company.group.rank)) continue;
      Letter letter = co_await post_.next_from(leg, Rank(r));
      letters.push_back(std::move(letter));
    }
    if (!in_step()) letters = take_all();
    co_await average(leg, std::move(letters));
  }

  std::vector<Letter> take_all() {
    std::vector<Letter> letters;
    while (std::optional<Letter> letter = post_.next()) letters.push_back(std::move(*letter));
    return letters;
  }

  Task<void> average(Leg& leg, std::vector<Letter> letters) {
    if (letters.empty()) co_return;
    std::vector<std::span<const float>> others;
    for (const Letter& letter : letters) others.push_back(letter.numbers(N_));
    const float share = 1 / static_cast<float>(1 + others.size());
    const std::span<float> w = leg.model().data();
    const SliceWork work = [&](std::size_t from, std::size_t to) {
      for (const std::span<const float> other : others)
        for (std::size_t i = from; i < to; ++i) w[i] += other[i];
      for (std::size_t i = from; i < to; ++i) w[i] *= share;
    };
    co_await in_slices(leg.env(), Work::Update, N_.value(), w.empty(), Order::Forward,
                       static_cast<double>(1 + others.size()), work);
  }

  Post post_;
};

}  // namespace

std::unique_ptr<Rendezvous> make_scatter(Node& node, const Learner& learner,
                                         const DecentralTerms& terms) {
  return std::make_unique<ScatterGather>(node, learner, terms);
}

}  // namespace shoal
