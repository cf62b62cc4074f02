#include "decentral/difference_mean.h"

#include "decentral/algorithm.h"
#include "encoded/all_reduce.h"

namespace shoal {

Cuts model_pieces(const Learner& learner) {
  Cuts pieces = learner.pieces();
  const Layout& layout = learner.layout();
  if (layout.averaged() > layout.parameters())
    pieces.push_back({layout.parameters(), layout.averaged() - layout.parameters()});
  return pieces;
}

std::vector<Encoding> model_encodings(const Encode& encode, const Learner& learner) {
  std::vector<Encoding> encodings = encodings_of(encode, learner);
  encodings.resize(model_pieces(learner).size());
  return encodings;
}

DifferenceMean::DifferenceMean(Node& node, const Learner& learner, const DecentralTerms& terms)
    : terms_(terms),
      encoder_(node.endpoint, {Encoding(), node.env.seed()}, model_pieces(learner),
               learner.substance()),
      last_(node.endpoint, learner.layout().averaged(), learner.substance()),
      difference_(node.endpoint, learner.layout().averaged(), learner.substance()) {
  encoder_.choose(model_encodings(terms.recipe.encode, learner));
}

Task<void> DifferenceMean::form(ViewContext& context, Step t, Range model, Range mean,
                                Range scratch) {
  Env& env = context.node.env;
  const Range d = difference_.all();
  encoder_.begin(t, 0, context.group.rank);
  co_await copy(env, d, model);
  if (agreed_) co_await mix(env, d, 1, last_.all(), -1);
  if (agreed_ && !context.alone()) {
    const EncodedForm form = form_of(terms_.recipe.encode, context.size());
    co_await encoded_all_reduce(form, context.group, encoder_, d, context.operations());
    co_await copy(env, mean, last_.all());
    co_await mix(env, mean, 1, d, 1 / static_cast<double>(context.size()));
  } else {
    co_await env.work(Work::Reduce, d.n, [&] { encoder_.keep(d); });
    co_await mean_of_all(context, terms_.recipe.exchange, d, mean, scratch);
    if (agreed_) co_await mix(env, mean, 1, last_.all(), 1);
  }
  encoder_.commit();
}

Task<void> DifferenceMean::agree(Env& env, Range model) {
  co_await copy(env, last_.all(), model);
  agreed_ = true;
}

std::vector<PerWorkerArray> DifferenceMean::own() {
  std::vector<PerWorkerArray> arrays;
  if (encoder_.residual().n > Elements(0)) arrays.push_back({"residual", encoder_.residual()});
  return arrays;
}

}  // namespace shoal
