// Dogwild: Hogwild between machines. Gradients are sent to others without waiting for anybody, and
// may be lost. Noel, Osindero, "Dogwild! - Distributed Hogwild for CPU & GPU", NIPS workshop on
// Distributed Machine Learning and Matrix Computations, 2014.
//
//   worker i, at its own pace:
//     g <- gradient at w_i;   send g to each of its peers of this step; it arrives, or not
//     g <- g + all gradients that have come;   w_i <- update(w_i, g / (1 + number of peers))
//
// Symbols: P workers, N parameters; peers by the topology: complete is the paper's multicast,
//   random one other in each step.
// Cost a step and worker: N values for each peer; nobody waits. Whoever has not got the last
//   gradient yet is not sent this one: a slow link costs gradients, not time.
// Which topologies: gradients move models alike where everyone sends to all, or to anybody. Along
//   the edges of a fixed sparse graph they would not: 1 + its matrix may have negative eigenvalues,
//   and the models grow apart along these.
// The result is the mean of all models.
// Deviations: gradients are sent whole, by a transport that loses nothing; --loss drops them in its
//   place, at the sender. They go through the receiver's optimizer with its own next one.
// Failure: lost gradients are what it is made for.
#include <utility>
#include <vector>

#include "base/random.h"
#include "collective/topology.h"
#include "decentral/post.h"
#include "decentral/rendezvous.h"

namespace shoal {
namespace {

class GradientStream final : public Rendezvous {
 public:
  GradientStream(Node& node, const Learner& learner, const DecentralTerms& terms)
      : Rendezvous(node, learner, terms), post_(node, learner.layout().parameters(), substance_) {}

  Task<void> begin(Company& company, Range model, const Roll& roll) override {
    (void)model, (void)roll;
    post_.begin(company);
    co_return;
  }
  void view_over() override { post_.view_over(); }

  Task<void> run(Leg& leg) override {
    post_.listen(leg, Keep::All);
    Random random = leg.env().random(Purpose::Gossip, node_.id.value(), leg.t().value() << 8U);
    while (true) {
      const bool more = co_await leg.next();
      if (!more) break;
      co_await leg.gradient();
      co_await mean_gradient(leg);
      co_await send(leg, random);
      co_await add_all(leg);
      co_await apply(leg);
      co_await leg.done();
    }
    co_await clear(leg.env(), leg.replica.g().all());
    co_await post_.until_all_came(leg);
    const bool came = co_await add_all(leg);
    if (came) co_await apply(leg);
    co_await post_.until_all_sent(leg);
  }

 private:
  Task<void> apply(Leg& leg) {
    return leg.apply(leg.replica.w(), leg.replica.slots(), static_cast<double>(1 + peers_));
  }

  Task<void> send(Leg& leg, Random& random) {
    const Graph graph =
        graph_of(terms_.peering.topology, leg.company.size(), leg.env().seed(), leg.t().value());
    std::vector<Rank> to = graph[leg.company.group.rank.value()];
    peers_ = to.size();
    std::erase_if(to,
                  [&](Rank r) { return random.chance(terms_.peering.loss) || post_.under_way(r); });
    if (to.empty()) co_return;
    Post::Outgoing& letter = post_.blank();
    co_await copy(leg.env(), letter.arena.all(), leg.replica.g().all());
    post_.send(leg, to, letter, leg.replica.N);
  }

  Task<bool> add_all(Leg& leg) {
    bool came = false;
    while (true) {
      const std::optional<Letter> letter = post_.next();
      if (!letter) co_return came;
      co_await mix(leg.env(), leg.replica.g().all(), 1, letter->numbers(leg.replica.N), 1);
      came = true;
    }
  }

  Post post_;
  std::size_t peers_ = 0;  // of the step at hand
};

}  // namespace

std::unique_ptr<Rendezvous> make_stream(Node& node, const Learner& learner,
                                        const DecentralTerms& terms) {
  return std::make_unique<GradientStream>(node, learner, terms);
}

}  // namespace shoal
