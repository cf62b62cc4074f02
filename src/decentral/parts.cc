// Ako: every other worker gets a different part of the gradient. Watcharapichat, Morales,
// Fernandez, Pietzuch, "Ako: Decentralised Deep Learning with Partial Gradient Exchange", SoCC
// 2016, doi:10.1145/2987550.2987586.
//
//   worker i, in step r, with the gradient cut into p parts:
//     g <- gradient at w_i
//     to the worker d places further, for d = 1 .. P-1:
//       part (r + d) mod p of the sum of its gradients of the last p rounds
//     g <- g + all parts that have come;   w_i <- update(w_i, g / P)
//
// A worker gets each part of another's gradients every p rounds, and so every gradient exactly once
// within p rounds. In step, a round waits for all messages of that round; p = 1 is then synchronous
// SGD. A training round ends with p - 1 steps without gradients, which send the remaining sums.
//
// Symbols: P workers, N parameters, p parts, P - 1 by default.
// Cost a step and worker: (P-1)/p N values, which is N by default, whatever P is; p arrays of N. A
//   worker waits for no other worker's step, only until the network has taken its last message to
//   that worker.
// The result is the mean of all models.
// Deviations: the paper adds gradients to the models when they arrive; here they go through the
//   worker's optimizer, together with its own next gradient.
// Failure: part of the sums of an interrupted round is lost; the models then differ by that much.
#include "decentral/parts.h"

#include <deque>
#include <utility>
#include <vector>

#include "decentral/algorithm.h"
#include "decentral/async_sender.h"
#include "runtime/slices.h"

namespace shoal {
namespace {

class PartialExchange final : public AlgorithmOf<PartsSettings> {
 public:
  PartialExchange(const PartsSettings& settings, Node& node, const Learner& learner,
                  const DecentralTerms& terms)
      : AlgorithmOf(settings, node, learner, terms), sender_(node, N_, substance_) {}

  Task<void> begin(ViewContext& context, Range model, const MembershipSnapshot& snapshot) override {
    (void)model, (void)snapshot;
    sender_.begin(context);
    co_return;
  }
  void view_over() override { sender_.view_over(); }

  Task<void> run(TrainingRound& round) override {
    sender_.listen(round, Keep::All);
    p_ = std::min(gradient_parts(settings_, round.context.size()), round.replica.N.value());
    r_ = 0;
    heard_.assign(round.context.size(), 0);
    while (past_.size() < p_) past_.emplace_back(round.replica.N, substance_);
    while (true) {
      const bool more = co_await round.next();
      if (!more) break;
      co_await round.gradient();
      co_await mean_gradient(round);
      co_await exchange(round);
      co_await apply(round);
      co_await round.done();
    }
    for (std::uint64_t rest = 1; rest < p_; ++rest) {
      co_await clear(round.env(), round.replica.g().all());
      const bool came = co_await exchange(round);
      if (came) co_await apply(round);
    }
    co_await clear(round.env(), round.replica.g().all());
    co_await sender_.until_all_came(round);
    const bool came = co_await add_all(round);
    if (came) co_await apply(round);
    co_await sender_.until_all_sent(round);
  }

 private:
  Task<void> apply(TrainingRound& round) {
    return round.apply(round.replica.w(), round.replica.slots(),
                       static_cast<double>(round.context.size()));
  }

  // One exchange: adds received parts to the gradient. Returns whether any part has arrived.
  Task<bool> exchange(TrainingRound& round) {
    co_await copy(round.env(), past_[r_ % p_].all(), round.replica.g().all());
    const std::uint64_t P = round.context.size();
    const std::uint64_t own = round.context.group.rank.value();
    for (std::uint64_t d = 1; d < P; ++d)
      co_await send(round, Rank(static_cast<std::uint32_t>((own + d) % P)), (r_ + d) % p_);
    ++r_;
    if (settings_.pace == WorkerPace::Async) co_return co_await add_all(round);
    for (std::uint64_t d = 1; d < P; ++d) {
      const Rank from(static_cast<std::uint32_t>((own + d) % P));
      const ReceivedModel message = co_await sender_.next_from(round, from);
      co_await add(round, message);
    }
    co_return P > 1;
  }

  Task<void> send(TrainingRound& round, Rank to, std::uint64_t part) {
    if (settings_.pace == WorkerPace::Async) co_await sender_.until_sent(round, to);
    AsyncSender::Outgoing& message = sender_.blank();
    std::vector<std::span<const float>> rounds;
    for (std::uint64_t r = 0; r < std::min(r_ + 1, p_); ++r)
      rounds.push_back(part_of(past_[r].all(), part, p_).data());
    const Elements n = part_of(past_[0].all(), part, p_).n;
    const std::span<float> sum = message.arena.range(Elements(0), n).data();
    const SliceWork work = [&](std::size_t from, std::size_t end) {
      for (std::size_t i = from; i < end; ++i) sum[i] = rounds[0][i];
      for (std::size_t r = 1; r < rounds.size(); ++r)
        for (std::size_t i = from; i < end; ++i) sum[i] += rounds[r][i];
    };
    co_await in_slices(round.env(), Work::Reduce, n.value(), sum.empty(), Order::Forward,
                       static_cast<double>(rounds.size()), work);
    sender_.send(round, std::span(&to, 1), message, n);
  }

  // The number of earlier parts from this sender tells which part this is.
  Task<void> add(TrainingRound& round, const ReceivedModel& message) {
    const std::uint64_t P = round.context.size();
    const std::uint64_t d = (round.context.group.rank.value() + P - message.from.value()) % P;
    const std::uint64_t part = (heard_[message.from.value()]++ + d) % p_;
    const Range there = part_of(round.replica.g().all(), part, p_);
    return mix(round.env(), there, 1, message.numbers(there.n), 1);
  }
  Task<bool> add_all(TrainingRound& round) {
    bool came = false;
    while (true) {
      const std::optional<ReceivedModel> message = sender_.next();
      if (!message) co_return came;
      co_await add(round, *message);
      came = true;
    }
  }

  AsyncSender sender_;
  std::uint64_t p_ = 1;
  std::uint64_t r_ = 0;               // step of this round
  std::deque<Arena> past_;            // the gradients of the last p rounds
  std::vector<std::uint64_t> heard_;  // parts received from each other worker in this round
};

}  // namespace

std::uint64_t gradient_parts(const PartsSettings& settings, std::uint64_t workers) {
  if (settings.partitions > 0) return settings.partitions;
  return workers > 2 ? workers - 1 : 1;
}

std::unique_ptr<DecentralAlgorithm> make_algorithm(const PartsSettings& settings, Node& node,
                                                   const Learner& learner,
                                                   const DecentralTerms& terms) {
  return std::make_unique<PartialExchange>(settings, node, learner, terms);
}

}  // namespace shoal
