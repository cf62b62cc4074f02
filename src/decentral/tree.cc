// Elastic averaging in a tree. Zhang, "Distributed Stochastic Optimization for Deep Learning",
// PhD thesis, New York University 2016, arXiv:1605.02216 (EASGD Tree).
//
//   worker i, at its own pace:
//     w_i <- update(w_i, g_i)
//     every tau_up steps:     send w_i to its parent
//     every tau_down steps:   send w_i to its children
//     of each w_s that has come:   w_i <- w_i + alpha (w_s - w_i)
//
// Only the receiver moves. In step a worker waits for the models of this step that are for it, and
// takes its parent's first. The children of worker r are 2 r + 1 and 2 r + 2.
//
// Symbols: P workers, N parameters, alpha moving rate: 0.9 / 3 where nothing else is asked, by the
//   three that a model meets at most.
// Cost a step and worker: N / tau_up values up, 2 N / tau_down down, whatever P is; nobody waits.
//   Whoever has not got the last model yet is left out.
// The result is the model of the root.
// Deviations: the thesis leaves training to the leaves; here all nodes train, as in the survey of
//   Langer et al. 2020.
// Failure: the tree of the next view is of its members alone. A root that is lost takes what it had
//   not passed on with it.
#include "collective/tree.h"

#include <utility>
#include <vector>

#include "decentral/post.h"
#include "decentral/rendezvous.h"

namespace shoal {
namespace {

class ElasticTree final : public Rendezvous {
 public:
  ElasticTree(Node& node, const Learner& learner, const DecentralTerms& terms)
      : Rendezvous(node, learner, terms), post_(node, N_, substance_) {}

  Task<void> begin(Company& company, Range model, const Roll& roll) override {
    (void)model, (void)roll;
    post_.begin(company);
    const std::uint32_t own = company.group.rank.value();
    up_.clear();
    down_.clear();
    if (own > 0) up_.emplace_back((own - 1) / 2);
    for (std::uint32_t child = 2 * own + 1; child <= 2 * own + 2; ++child)
      if (child < company.size()) down_.emplace_back(child);
    alpha_ = elastic_alpha(terms_.peering, company.size());
    co_return;
  }
  void view_over() override { post_.view_over(); }

  Task<void> run(Leg& leg) override {
    post_.listen(leg, Keep::All);
    while (true) {
      const bool more = co_await leg.next();
      if (!more) break;
      co_await leg.step();
      const bool upwards = leg.t().value() % tau_up() == 0;
      const bool downwards = leg.t().value() % tau_down() == 0;
      if (upwards) co_await send(leg, up_);
      if (downwards) co_await send(leg, down_);
      if (!in_step()) {
        co_await follow_all(leg);
        continue;
      }
      if (downwards) co_await follow_each(leg, up_);
      if (upwards) co_await follow_each(leg, down_);
    }
    co_await post_.until_all_came(leg);
    co_await follow_all(leg);
    co_await post_.until_all_sent(leg);
  }

  Task<void> result(Company& company, Range model, Range out) override {
    const std::uint64_t operation = company.operations();
    co_await copy(company.node.env, out, model);
    if (!company.alone()) co_await tree_broadcast(company.group, Rank(0), out, operation);
  }

 private:
  bool in_step() const { return terms_.peering.in_step; }
  std::uint32_t tau_up() const { return terms_.peering.tau; }
  std::uint32_t tau_down() const {
    return terms_.peering.tau_down > 0 ? terms_.peering.tau_down : terms_.peering.tau;
  }

  Task<void> send(Leg& leg, std::vector<Rank> to) {
    if (!in_step()) std::erase_if(to, [&](Rank r) { return post_.under_way(r); });
    if (to.empty()) co_return;
    Post::Outgoing& letter = post_.blank();
    co_await copy(leg.env(), letter.arena.all(), leg.model());
    post_.send(leg, to, letter, N_);
  }

  Task<void> follow(Leg& leg, const Letter& letter) {
    return mix(leg.env(), leg.model(), 1 - alpha_, letter.numbers(N_), alpha_);
  }
  Task<void> follow_each(Leg& leg, const std::vector<Rank>& senders) {
    for (const Rank r : senders) {
      const Letter letter = co_await post_.next_from(leg, r);
      co_await follow(leg, letter);
    }
  }
  Task<void> follow_all(Leg& leg) {
    while (true) {
      const std::optional<Letter> letter = post_.next();
      if (!letter) co_return;
      co_await follow(leg, *letter);
    }
  }

  Post post_;
  std::vector<Rank> up_, down_;  // whom it has an edge to
  double alpha_ = 0;
};

}  // namespace

std::unique_ptr<Rendezvous> make_tree(Node& node, const Learner& learner,
                                      const DecentralTerms& terms) {
  return std::make_unique<ElasticTree>(node, learner, terms);
}

}  // namespace shoal
