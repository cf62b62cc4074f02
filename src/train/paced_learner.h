// A learner with given costs: its results are those of another learner, its time in simulation that
// of a profile, measured or made up. A phantom with the same costs takes the same time and has no
// results.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "learner/learner.h"
#include "learner/phantom.h"

namespace shoal {

// Nanoseconds per sample; Work::Forward and Work::Backward count them as elements.
struct Pace {
  double forward = 0;
  std::vector<double> backward;  // time between each bucket and the one before

  double total() const;
};

// "412000": the total; a third is forward, the rest is divided by bucket size. "120000,90000,1000":
// forward, then each bucket. Throws ConfigError.
Pace parse_pace(std::string_view text, const std::vector<Elements>& buckets);
std::string to_text(const Pace& pace);  // the second form

// REQUIRES: as many buckets as in the pace.
std::unique_ptr<PhantomLearner> phantom_of(const Pace& pace, const std::vector<Elements>& buckets);

// Several nodes of one simulated world may share it, and with it the inner learner, which is called
// inside single pieces of work; nothing is fetched ahead.
class PacedLearner final : public Learner {
 public:
  // `inner` outlives this object.
  PacedLearner(Learner& inner, Pace pace) : inner_(inner), pace_(std::move(pace)) {}

  const Layout& layout() const override { return inner_.layout(); }
  Cuts pieces() const override { return inner_.pieces(); }
  Substance substance() const override { return inner_.substance(); }
  void initialize(Range state) const override { inner_.initialize(state); }
  Task<void> gradient(Env& env, Range state, GradientTarget target, Portion portion,
                      Channel<Ready>& ready, Score& score) override;
  Task<Score> evaluate(Env& env, Range state, std::uint64_t from, std::uint64_t to) override;
  Task<Predictions> predict(Env& env, Range state, std::uint64_t from, std::uint64_t to) override;
  std::uint64_t held_out() const override { return inner_.held_out(); }
  std::unique_ptr<Lane> lane(Range state, Portion portion, double eta, Score& score) override;

 private:
  Learner& inner_;
  const Pace pace_;
};

}  // namespace shoal
