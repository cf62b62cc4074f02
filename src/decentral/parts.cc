// Ako: each of the others gets a part of the gradient, a different one. Watcharapichat, Morales,
// Fernandez, Pietzuch, "Ako: Decentralised Deep Learning with Partial Gradient Exchange", SoCC
// 2016, doi:10.1145/2987550.2987586.
//
//   worker i, in round r, the gradient being cut into p parts:
//     g <- gradient at w_i
//     to the worker d places further, for d = 1 .. P-1:
//       part (r + d) mod p of the sum of its gradients of the last p rounds
//     g <- g + all parts that have come;   w_i <- update(w_i, g / P)
//
// A worker gets each part of another's gradients every p rounds, and so each gradient exactly once
// within p rounds. In step a round waits for what all others send in it; then p = 1 is synchronous
// SGD. A leg ends with p - 1 rounds without gradients, so that nothing is left.
//
// Symbols: P workers, N parameters, p parts; P - 1 where nothing else is asked.
// Cost a step and worker: (P-1)/p N values, which is N, whatever P is; p arrays of N. Nobody waits
//   for another's step, only until the network has taken what was sent to that worker before.
// The result is the mean of all models.
// Deviations: the paper adds gradients to the models as they come; here they go through the
//   worker's optimizer with its own next one.
// Failure: the sums of a leg that is cut off are lost in part; the models stay apart by that much.
#include <deque>
#include <utility>
#include <vector>

#include "decentral/post.h"
#include "decentral/rendezvous.h"
#include "runtime/slices.h"

namespace shoal {
namespace {

class PartialExchange final : public Rendezvous {
 public:
  PartialExchange(Node& node, const Learner& learner, const DecentralTerms& terms)
      : Rendezvous(node, learner, terms), post_(node, N_, substance_) {}

  Task<void> begin(Company& company, Range model, const Roll& roll) override {
    (void)model, (void)roll;
    post_.begin(company);
    co_return;
  }
  void view_over() override { post_.view_over(); }

  Task<void> run(Leg& leg) override {
    post_.listen(leg, Keep::All);
    p_ = std::min(gradient_parts(terms_.peering, leg.company.size()), leg.replica.N.value());
    round_ = 0;
    heard_.assign(leg.company.size(), 0);
    while (past_.size() < p_) past_.emplace_back(leg.replica.N, substance_);
    while (true) {
      const bool more = co_await leg.next();
      if (!more) break;
      co_await leg.gradient();
      co_await mean_gradient(leg);
      co_await exchange(leg);
      co_await apply(leg);
      co_await leg.done();
    }
    for (std::uint64_t rest = 1; rest < p_; ++rest) {
      co_await clear(leg.env(), leg.replica.g().all());
      const bool came = co_await exchange(leg);
      if (came) co_await apply(leg);
    }
    co_await clear(leg.env(), leg.replica.g().all());
    co_await post_.until_all_came(leg);
    const bool came = co_await add_all(leg);
    if (came) co_await apply(leg);
    co_await post_.until_all_sent(leg);
  }

 private:
  Task<void> apply(Leg& leg) {
    return leg.apply(leg.replica.w(), leg.replica.slots(), static_cast<double>(leg.company.size()));
  }

  // A round: the gradient becomes that of the update. Whether anything has come.
  Task<bool> exchange(Leg& leg) {
    co_await copy(leg.env(), past_[round_ % p_].all(), leg.replica.g().all());
    const std::uint64_t P = leg.company.size();
    const std::uint64_t own = leg.company.group.rank.value();
    for (std::uint64_t d = 1; d < P; ++d)
      co_await send(leg, Rank(static_cast<std::uint32_t>((own + d) % P)), (round_ + d) % p_);
    ++round_;
    if (!terms_.peering.in_step) co_return co_await add_all(leg);
    for (std::uint64_t d = 1; d < P; ++d) {
      const Rank from(static_cast<std::uint32_t>((own + d) % P));
      const Letter letter = co_await post_.next_from(leg, from);
      co_await add(leg, letter);
    }
    co_return P > 1;
  }

  Task<void> send(Leg& leg, Rank to, std::uint64_t part) {
    if (!terms_.peering.in_step) co_await post_.until_sent(leg, to);
    Post::Outgoing& letter = post_.blank();
    std::vector<std::span<const float>> rounds;
    for (std::uint64_t r = 0; r < std::min(round_ + 1, p_); ++r)
      rounds.push_back(part_of(past_[r].all(), part, p_).data());
    const Elements n = part_of(past_[0].all(), part, p_).n;
    const std::span<float> sum = letter.arena.range(Elements(0), n).data();
    const SliceWork work = [&](std::size_t from, std::size_t end) {
      for (std::size_t i = from; i < end; ++i) sum[i] = rounds[0][i];
      for (std::size_t r = 1; r < rounds.size(); ++r)
        for (std::size_t i = from; i < end; ++i) sum[i] += rounds[r][i];
    };
    co_await in_slices(leg.env(), Work::Reduce, n.value(), sum.empty(), Order::Forward,
                       static_cast<double>(rounds.size()), work);
    post_.send(leg, std::span(&to, 1), letter, n);
  }

  // Which part it is follows from how many came from there before.
  Task<void> add(Leg& leg, const Letter& letter) {
    const std::uint64_t P = leg.company.size();
    const std::uint64_t d = (leg.company.group.rank.value() + P - letter.from.value()) % P;
    const std::uint64_t part = (heard_[letter.from.value()]++ + d) % p_;
    const Range there = part_of(leg.replica.g().all(), part, p_);
    return mix(leg.env(), there, 1, letter.numbers(there.n), 1);
  }
  Task<bool> add_all(Leg& leg) {
    bool came = false;
    while (true) {
      const std::optional<Letter> letter = post_.next();
      if (!letter) co_return came;
      co_await add(leg, *letter);
      came = true;
    }
  }

  Post post_;
  std::uint64_t p_ = 1;
  std::uint64_t round_ = 0;           // of this leg
  std::deque<Arena> past_;            // the gradients of the last p rounds
  std::vector<std::uint64_t> heard_;  // parts of each of the others, in this leg
};

}  // namespace

std::unique_ptr<Rendezvous> make_parts(Node& node, const Learner& learner,
                                       const DecentralTerms& terms) {
  return std::make_unique<PartialExchange>(node, learner, terms);
}

}  // namespace shoal
