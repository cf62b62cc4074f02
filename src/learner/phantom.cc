#include "learner/phantom.h"

namespace shoal {

PhantomLearner::PhantomLearner(std::vector<PhantomLayer> layers) : layers_(std::move(layers)) {
  for (const PhantomLayer& layer : layers_) parameters_ += layer.parameters;
}

Task<void> PhantomLearner::gradient(Env& env, Range, Range g, std::vector<SampleId> samples,
                                    Channel<Ready>& ready) {
  SHOAL_CHECK_EQ(g.n, parameters_);
  for (const PhantomLayer& layer : layers_)
    co_await env.work(Work::Forward, layer.forward * samples.size(), [] {});
  Elements end = parameters_;
  std::uint32_t number = 0;
  for (std::size_t i = layers_.size(); i-- > 0;) {
    const PhantomLayer& layer = layers_[i];
    co_await env.work(Work::Backward, layer.backward * samples.size(), [] {});
    end -= layer.parameters;
    if (layer.parameters > Elements(0)) ready.push(Ready{number++, end, layer.parameters});
  }
  ready.close();
}

}  // namespace shoal
