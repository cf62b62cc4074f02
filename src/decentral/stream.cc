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
// Encoded it is Strom's: "Scalable distributed DNN training using commodity GPU cloud computing",
// Interspeech 2015; DL4J's gradient sharing:
//     v <- g + e;   send c(v) to all peers;   e <- v - c(v)
//     g <- c(v) + all that has come: what others see of a gradient is what its worker moves by
//   A message that is left out would be missed for ever, so that each waits until the network has
//   taken the last one; --loss loses messages all the same. The threshold is one of mean gradients:
//   DL4J has one of steps, which are as much smaller as the step size is.
// Which topologies: gradients move models alike where everyone sends to all, or to anybody. Along
//   the edges of a fixed sparse graph they would not: 1 + its matrix may have negative eigenvalues,
//   and the models grow apart along these.
// The result is the mean of all models.
// Deviations: gradients are sent whole, by a transport that loses nothing; --loss drops them in its
//   place, at the sender. They go through the receiver's optimizer with its own next one.
// Failure: lost gradients are what it is made for.
#include <memory>
#include <utility>
#include <vector>

#include "base/random.h"
#include "collective/topology.h"
#include "decentral/post.h"
#include "decentral/rendezvous.h"
#include "encoded/encoder.h"

namespace shoal {
namespace {

class GradientStream final : public Rendezvous {
 public:
  GradientStream(Node& node, const Learner& learner, const DecentralTerms& terms)
      : Rendezvous(node, learner, terms),
        encoder_(encoder_of(node, learner, terms)),
        post_(node, most(learner), substance_) {}

  Task<void> begin(Company& company, Range model, const Roll& roll) override {
    (void)model, (void)roll;
    post_.begin(company);
    co_return;
  }
  void view_over() override { post_.view_over(); }
  std::vector<OwnArray> own() override {
    std::vector<OwnArray> arrays;
    if (encoder_ && encoder_->residual().n > Elements(0))
      arrays.push_back({"residual", encoder_->residual()});
    return arrays;
  }

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
    std::erase_if(to, [&](Rank r) {
      return random.chance(terms_.peering.loss) || (!encoder_ && post_.under_way(r));
    });
    if (encoder_) co_return co_await send_encoded(leg, to);
    if (to.empty()) co_return;
    Post::Outgoing& letter = post_.blank();
    co_await copy(leg.env(), letter.arena.all(), leg.replica.g().all());
    post_.send(leg, to, letter, leg.replica.N);
  }

  // The gradient becomes what was sent of it.
  Task<void> send_encoded(Leg& leg, const std::vector<Rank>& to) {
    const Range g = leg.replica.g().all();
    encoder_->begin(leg.t(), 0, Rank(node_.id.value()));
    if (leg.company.alone()) {
      co_await leg.env().work(Work::Reduce, g.n, [&] { encoder_->keep(g); });
      co_return encoder_->commit();
    }
    for (const Rank r : to) co_await post_.until_sent(leg, r);
    Post::Outgoing& letter = post_.blank();
    const MutBuf room = letter.arena.all().bytes();
    Bytes size = encoder_->expected(g);
    co_await leg.env().work(Work::Encode, g.n, [&] {
      if (!encoder_->phantom()) size = encoder_->encode(g, room);
    });
    encoder_->encoded(g);
    encoder_->commit();
    const ConstBuf message{room.data, size};
    co_await leg.env().work(Work::Decode, g.n, [&] {
      if (!encoder_->phantom()) encoder_->decode(message, g, node_.id);
    });
    post_.send(leg, to, letter, Elements(size.value() / sizeof(float)));
  }

  Task<bool> add_all(Leg& leg) {
    bool came = false;
    while (true) {
      const std::optional<Letter> letter = post_.next();
      if (!letter) co_return came;
      if (encoder_) {
        co_await add_encoded(leg, *letter);
      } else {
        co_await mix(leg.env(), leg.replica.g().all(), 1, letter->numbers(leg.replica.N), 1);
      }
      came = true;
    }
  }

  Task<void> add_encoded(Leg& leg, const Letter& letter) {
    const Range g = leg.replica.g().all();
    const ConstBuf message{letter.room->bytes().data, letter.what.size};
    co_await leg.env().work(Work::Decode, g.n, [&] {
      if (!encoder_->phantom()) encoder_->decode_add(message, g, letter.what.from);
    });
  }

  static std::unique_ptr<Encoder> encoder_of(Node& node, const Learner& learner,
                                             const DecentralTerms& terms) {
    if (!encodes(terms.encode)) return nullptr;
    const EncoderOptions options{Encoding(), node.env.seed()};
    auto encoder =
        std::make_unique<Encoder>(node.endpoint, options, learner.pieces(), learner.substance());
    encoder->choose(encodings_of(terms.encode, learner));
    return encoder;
  }
  // Numbers of a letter. A message is padded to whole ones.
  Elements most(const Learner& learner) const {
    const Elements N = learner.layout().parameters();
    if (!encoder_) return N;
    const Range all{nullptr, Elements(0), N};
    return Elements(encoder_->most(all).value() / sizeof(float));
  }

  std::unique_ptr<Encoder> encoder_;  // none: gradients are sent as they are
  Post post_;
  std::size_t peers_ = 0;  // of the step at hand
};

}  // namespace

std::unique_ptr<Rendezvous> make_stream(Node& node, const Learner& learner,
                                        const DecentralTerms& terms) {
  return std::make_unique<GradientStream>(node, learner, terms);
}

}  // namespace shoal
