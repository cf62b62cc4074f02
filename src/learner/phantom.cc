#include "learner/phantom.h"

#include <limits>

namespace shoal {
namespace {

Layout layout_of(const std::vector<PhantomLayer>& layers) {
  Elements parameters;
  for (const PhantomLayer& layer : layers) parameters += layer.parameters;
  return Layout::plain(parameters);
}

}  // namespace

PhantomLearner::PhantomLearner(std::vector<PhantomLayer> layers)
    : layers_(std::move(layers)), layout_(layout_of(layers_)) {}

Cuts PhantomLearner::pieces() const {
  Cuts cuts;
  Elements at;
  for (const PhantomLayer& layer : layers_) {
    if (layer.parameters > Elements(0)) cuts.push_back({at, layer.parameters});
    at += layer.parameters;
  }
  return cuts;
}

Task<void> PhantomLearner::gradient(Env& env, Range, GradientTarget target, Portion portion,
                                    Channel<Ready>& ready, Score& score) {
  SHOAL_CHECK_EQ(target.g.n, layout_.parameters());
  const std::uint64_t samples = portion.samples.size();
  Elements at;
  for (std::size_t i = 0; i < layers_.size();) {
    if (target.gate != nullptr) co_await target.gate->until(env, at, layers_[i].parameters);
    Elements forward;  // of all remaining layers: a disturbance of a pass lasts long
    do {
      forward += layers_[i].forward;
      at += layers_[i].parameters;
      ++i;
    } while (i < layers_.size() &&
             (target.gate == nullptr || target.gate->is_open(at, layers_[i].parameters)));
    co_await env.work(Work::Forward, forward * samples, [] {});
  }
  Elements end = layout_.parameters();
  std::uint32_t number = 0;
  for (std::size_t i = layers_.size(); i-- > 0;) {
    const PhantomLayer& layer = layers_[i];
    co_await env.work(Work::Backward, layer.backward * samples, [] {});
    end -= layer.parameters;
    if (layer.parameters > Elements(0)) ready.push(Ready{number++, end, layer.parameters});
  }
  // A phantom's loss is unknown.
  score += Score{.loss = std::numeric_limits<double>::quiet_NaN(), .samples = samples};
  ready.close();
}

Task<Score> PhantomLearner::evaluate(Env& env, Range, std::uint64_t from, std::uint64_t to) {
  for (const PhantomLayer& layer : layers_)
    co_await env.work(Work::Forward, layer.forward * (to - from), [] {});
  co_return Score{.samples = to - from};
}

namespace {

class PhantomLane final : public Lane {
 public:
  explicit PhantomLane(Elements size) : size_(size) {}
  bool step() override { return false; }
  Elements size() const override { return size_; }

 private:
  Elements size_;
};

}  // namespace

std::unique_ptr<Lane> PhantomLearner::lane(Range, Portion portion, double, Score& score) {
  score.samples += portion.samples.size();
  Elements each;
  for (const PhantomLayer& layer : layers_) each += layer.forward + layer.backward;
  return std::make_unique<PhantomLane>(each * portion.samples.size());
}

}  // namespace shoal
