// Dogwild: Hogwild between machines. Workers send gradients without waiting, and a gradient may be
// lost. Noel, Osindero, "Dogwild! - Distributed Hogwild for CPU & GPU", NIPS workshop on
// Distributed Machine Learning and Matrix Computations, 2014.
//
//   worker i, at its own pace:
//     g <- gradient at w_i;   send g to each of its peers of this step; it arrives, or not
//     g <- g + all gradients that have come;   w_i <- update(w_i, g / (1 + number of peers))
//
// Symbols: P workers, N parameters; the topology gives the peers: complete is the paper's
//   multicast, random one other worker per step.
// Cost a step and worker: N values for each peer; no worker waits. A peer that has not received the
//   last gradient yet is not sent this one: a slow link loses gradients, not time.
// Encoded, it is Strom's algorithm: "Scalable distributed DNN training using commodity GPU cloud
// computing", Interspeech 2015; DL4J's gradient sharing:
//     v <- g + e;   send c(v) to all peers;   e <- v - c(v)
//     g <- c(v) + all that has come: a worker applies to its own model what the others see
//   A skipped message would be lost for good, so a worker waits until the network has taken its
//   last one; --drop-probability still loses messages. The threshold applies to mean gradients;
//   DL4J's applies to steps, which are smaller by the factor of the step size.
// Topologies: gradients must reach all models alike, so workers send to all, or to random peers. On
//   a fixed sparse graph, 1 + its matrix may have negative eigenvalues, along which models diverge.
// The result is the mean of all models.
// Deviations: the transport loses nothing and sends gradients whole; --drop-probability drops them
//   at the sender instead. They go through the receiver's optimizer, with its own next gradient.
// Failure: the algorithm tolerates lost gradients.
#include "decentral/stream.h"

#include <memory>
#include <utility>
#include <vector>

#include "base/random.h"
#include "collective/topology.h"
#include "decentral/algorithm.h"
#include "decentral/async_sender.h"
#include "encoded/encoder.h"

namespace shoal {
namespace {

class GradientStream final : public AlgorithmOf<StreamSettings> {
 public:
  GradientStream(const StreamSettings& settings, Node& node, const Learner& learner,
                 const DecentralTerms& terms)
      : AlgorithmOf(settings, node, learner, terms),
        encoder_(encoder_of(node, learner, terms)),
        sender_(node, most(learner), substance_) {}

  Task<void> begin(ViewContext& context, Range model, const MembershipSnapshot& snapshot) override {
    (void)model, (void)snapshot;
    sender_.begin(context);
    co_return;
  }
  void view_over() override { sender_.view_over(); }
  std::vector<PerWorkerArray> own() override {
    std::vector<PerWorkerArray> arrays;
    if (encoder_ && encoder_->residual().n > Elements(0))
      arrays.push_back({"residual", encoder_->residual()});
    return arrays;
  }

  Task<void> run(TrainingRound& round) override {
    sender_.listen(round, Keep::All);
    Random random = round.env().random(Purpose::Gossip, node_.id.value(), round.t().value() << 8U);
    while (true) {
      const bool more = co_await round.next();
      if (!more) break;
      co_await round.gradient();
      co_await mean_gradient(round);
      co_await send(round, random);
      co_await add_all(round);
      co_await apply(round);
      co_await round.done();
    }
    co_await clear(round.env(), round.replica.g().all());
    co_await sender_.until_all_came(round);
    const bool came = co_await add_all(round);
    if (came) co_await apply(round);
    co_await sender_.until_all_sent(round);
  }

 private:
  Task<void> apply(TrainingRound& round) {
    return round.apply(round.replica.w(), round.replica.slots(), static_cast<double>(1 + peers_));
  }

  Task<void> send(TrainingRound& round, Random& random) {
    const Graph graph =
        graph_of(settings_.topology, round.context.size(), round.env().seed(), round.t().value());
    std::vector<Rank> to = graph[round.context.group.rank.value()];
    peers_ = to.size();
    std::erase_if(to, [&](Rank r) {
      return random.chance(settings_.drop_probability) || (!encoder_ && sender_.under_way(r));
    });
    if (encoder_) co_return co_await send_encoded(round, to);
    if (to.empty()) co_return;
    AsyncSender::Outgoing& outgoing = sender_.blank();
    co_await copy(round.env(), outgoing.arena.all(), round.replica.g().all());
    sender_.send(round, to, outgoing, round.replica.N);
  }

  // Sends the encoded gradient, and replaces the gradient by its decoded value.
  Task<void> send_encoded(TrainingRound& round, const std::vector<Rank>& to) {
    const Range g = round.replica.g().all();
    encoder_->begin(round.t(), 0, Rank(node_.id.value()));
    if (round.context.alone()) {
      co_await round.env().work(Work::Reduce, g.n, [&] { encoder_->keep(g); });
      co_return encoder_->commit();
    }
    for (const Rank r : to) co_await sender_.until_sent(round, r);
    AsyncSender::Outgoing& outgoing = sender_.blank();
    const MutBuf room = outgoing.arena.all().bytes();
    Bytes size = encoder_->expected(g);
    co_await round.env().work(Work::Encode, g.n, [&] {
      if (!encoder_->phantom()) size = encoder_->encode(g, room);
    });
    encoder_->encoded(g);
    encoder_->commit();
    const ConstBuf encoded{room.data, size};
    co_await round.env().work(Work::Decode, g.n, [&] {
      if (!encoder_->phantom()) encoder_->decode(encoded, g, node_.id);
    });
    sender_.send(round, to, outgoing, Elements(size.value() / sizeof(float)));
  }

  Task<bool> add_all(TrainingRound& round) {
    bool came = false;
    while (true) {
      const std::optional<ReceivedModel> message = sender_.next();
      if (!message) co_return came;
      if (encoder_) {
        co_await add_encoded(round, *message);
      } else {
        co_await mix(round.env(), round.replica.g().all(), 1, message->numbers(round.replica.N), 1);
      }
      came = true;
    }
  }

  Task<void> add_encoded(TrainingRound& round, const ReceivedModel& received) {
    const Range g = round.replica.g().all();
    const ConstBuf message{received.room->bytes().data, received.what.size};
    co_await round.env().work(Work::Decode, g.n, [&] {
      if (!encoder_->phantom()) encoder_->decode_add(message, g, received.what.from);
    });
  }

  static std::unique_ptr<Encoder> encoder_of(Node& node, const Learner& learner,
                                             const DecentralTerms& terms) {
    if (!encodes(terms.recipe.encode)) return nullptr;
    const EncoderOptions options{Encoding(), node.env.seed()};
    auto encoder =
        std::make_unique<Encoder>(node.endpoint, options, learner.pieces(), learner.substance());
    encoder->choose(encodings_of(terms.recipe.encode, learner));
    return encoder;
  }
  // The largest message in numbers; messages are padded to whole numbers.
  Elements most(const Learner& learner) const {
    const Elements N = learner.layout().parameters();
    if (!encoder_) return N;
    const Range all{nullptr, Elements(0), N};
    return Elements(encoder_->most(all).value() / sizeof(float));
  }

  std::unique_ptr<Encoder> encoder_;  // empty: gradients are not encoded
  AsyncSender sender_;
  std::size_t peers_ = 0;  // of the current step
};

}  // namespace

std::unique_ptr<DecentralAlgorithm> make_algorithm(const StreamSettings& settings, Node& node,
                                                   const Learner& learner,
                                                   const DecentralTerms& terms) {
  return std::make_unique<GradientStream>(settings, node, learner, terms);
}

}  // namespace shoal
