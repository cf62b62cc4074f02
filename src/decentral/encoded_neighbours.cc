// D-PSGD (neighbours.cc), sending encoded differences to the models that neighbours know.
// Koloskova, Stich, Jaggi, "Decentralized stochastic optimization and gossip algorithms with
// compressed communication" (Choco-SGD), ICML 2019, arXiv:1902.00340.
//
//   x_j: the estimate of w_j at all neighbours of j and at j itself
//   for t = 0, 1, ..:
//     q_i <- c(w_i - x_i);   at once:  g <- gradient at w_i;   send q_i to the neighbours, get q_j
//     x_j <- x_j + q_j, of i and its neighbours
//     w_i <- w_i + gamma sum over j of W_ij (x_j - x_i)        (W: doubly stochastic, topology.h)
//     w_i <- update(w_i, g)
//
// The next difference contains what an encoding left out: error feedback (+ef) is built in.
// Symbols: P workers, N parameters, deg neighbours, W mixing weights, gamma --mix-rate.
// Cost a step and worker: deg messages, encoded; deg + 1 arrays of N.
// The result is the mean of all models, which mixing does not change, whatever an encoding drops.
// Deviation: the gradient is computed before the mixing, while messages travel.
// Failure: the first exchange of a view sends whole models, so that all know their neighbours'.
#include <map>
#include <utility>
#include <vector>

#include "decentral/algorithm.h"
#include "decentral/difference_mean.h"
#include "decentral/neighbours.h"
#include "encoded/encoder.h"
#include "runtime/slices.h"
#include "runtime/task_group.h"

namespace shoal {
namespace {

class DifferenceMixing final : public AlgorithmOf<NeighboursSettings> {
 public:
  DifferenceMixing(const NeighboursSettings& settings, Node& node, const Learner& learner,
                   const DecentralTerms& terms)
      : AlgorithmOf(settings, node, learner, terms),
        encoder_(node.endpoint, {Encoding(), node.env.seed()}, model_pieces(learner), substance_),
        own_(model_arena()),
        difference_(model_arena()) {
    std::vector<Encoding> encodings = model_encodings(terms.recipe.encode, learner);
    for (Encoding& one : encodings) one.feedback = false;
    encoder_.choose(encodings);
    gamma_ = mix_rate(settings, terms.recipe.encode.as);
    for (const LayerEncoding& one : terms.recipe.encode.layers)
      gamma_ = std::min(gamma_, mix_rate(settings, one.as));
  }

  void view_over() override { whole_ = true; }

  Task<void> run(TrainingRound& round) override {
    while (true) {
      const bool more = co_await round.next();
      if (!more) break;
      co_await begin_exchange(round);
      co_await round.gradient();
      co_await round.context.with_others(until_there());
      co_await mix_in(round);
      co_await round.update();
      co_await round.done();
    }
  }

 private:
  struct Neighbour {
    NodeId node;
    float weight = 0;
    Arena* known = nullptr;  // x_j
  };

  Task<void> begin_exchange(TrainingRound& round) {
    there_ = true;
    neighbours_.clear();
    if (round.t().value() % settings_.local_steps != 0) co_return;
    const Graph graph = graph_of(settings_.topology, round.context.size(), round.env().seed(), 0);
    const Mixing mixing = metropolis(graph);
    const std::uint32_t own = round.context.group.rank.value();
    for (const Rank r : graph[own]) {
      const NodeId node = round.context.group.view->at(r);
      Arena& known = known_.try_emplace(node, node_.endpoint, N_, substance_).first->second;
      neighbours_.push_back({node, static_cast<float>(mixing[own][r.value()]), &known});
    }
    if (neighbours_.empty()) co_return;
    there_ = false;
    const ConstBuf message = co_await write(round);
    round.spawn(exchange(round, message, std::exchange(whole_, false)));
  }

  // Encodes this worker's message, and updates x_i.
  Task<ConstBuf> write(TrainingRound& round) {
    Env& env = round.env();
    if (whole_) {
      co_await copy(env, own_.all(), round.model());
      co_return own_.bytes();
    }
    const Range d = difference_.all();
    co_await copy(env, d, round.model());
    co_await mix(env, d, 1, own_.all(), -1);
    encoder_.begin(round.t(), 0, round.context.group.rank);
    const MutBuf room = encoder_.room(encoder_.phantom() ? encoder_.expected(d) : encoder_.most(d));
    Bytes size = room.size;
    co_await env.work(Work::Encode, d.n, [&] {
      if (!encoder_.phantom()) size = encoder_.encode(d, room);
    });
    const ConstBuf message{room.data, size};
    co_await take(env, message, own_, node_.id);
    co_return message;
  }

  // x_j <- x_j + q_j
  Task<void> take(Env& env, ConstBuf message, Arena& known, NodeId from) {
    co_await env.work(Work::Decode, known.size(), [&] {
      if (!encoder_.phantom()) encoder_.decode_add(message, known.all(), from);
    });
  }

  Task<void> exchange(TrainingRound& round, ConstBuf message, bool whole) {
    co_await round.context.with_others(exchange_all(round, message, whole));
    there_ = true;
    changed_.notify_all();
  }
  Task<void> exchange_all(TrainingRound& round, ConstBuf message, bool whole) {
    const Group& group = round.context.group;
    // Only some members take part in each exchange: the step gives its number.
    const Tag tag = group.tag(ViewContext::operation_of_step(round.t()), 0);
    co_await with_group([&](TaskGroup& tasks) -> Task<> {
      for (const Neighbour& one : neighbours_)
        tasks.spawn(as_task(group.node.endpoint.publish(one.node, tag, message)));
      for (const Neighbour& one : neighbours_) {
        const Match match{.from = one.node, .tag = tag};
        const Reading there = co_await group.node.endpoint.read(match);
        if (whole) {
          require_size(there, one.known->bytes().size);
          co_await copy(round.env(), one.known->all(), numbers_of(there, N_));
        } else {
          co_await take(round.env(), there.data(), *one.known, one.node);
        }
      }
    });
  }
  Task<void> until_there() {
    while (!there_) co_await changed_.wait();
  }

  Task<void> mix_in(TrainingRound& round) {
    if (neighbours_.empty()) co_return;
    const std::span<float> w = round.model().data();
    const std::span<const float> own = own_.all().data();
    const auto gamma = static_cast<float>(gamma_);
    const SliceWork work = [&](std::size_t from, std::size_t to) {
      for (const Neighbour& one : neighbours_) {
        const std::span<const float> other = one.known->all().data();
        const float part = gamma * one.weight;
        for (std::size_t i = from; i < to; ++i) w[i] += part * (other[i] - own[i]);
      }
    };
    co_await in_slices(round.env(), Work::Reduce, N_.value(), w.empty(), Order::Forward,
                       static_cast<double>(1 + neighbours_.size()), work);
  }

  Encoder encoder_;
  Arena own_, difference_;         // x_i, and the difference to encode
  std::map<NodeId, Arena> known_;  // x_j
  double gamma_ = 1;
  bool whole_ = true;                  // send whole models: the neighbours' x_i are unknown
  std::vector<Neighbour> neighbours_;  // of the current step
  bool there_ = true;
  Signal changed_;
};

}  // namespace

std::unique_ptr<DecentralAlgorithm> make_encoded_neighbours(const NeighboursSettings& settings,
                                                            Node& node, const Learner& learner,
                                                            const DecentralTerms& terms) {
  return std::make_unique<DifferenceMixing>(settings, node, learner, terms);
}

}  // namespace shoal
