// A learner at a given pace: its results are another learner's, its time in simulation is that of a
// profile, measured or made up. The phantom of the same pace takes the same time and has no
// results.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "learner/learner.h"
#include "learner/phantom.h"

namespace shoal {

// Nanoseconds of one sample, which Work::Forward and Work::Backward count as elements.
struct Pace {
  double forward = 0;
  std::vector<double> backward;  // until each bucket is ready, after the one before it

  double total() const;
};

// "412000": all of it; a third is forward, the rest goes by the buckets' sizes.
// "120000,90000,1000": forward, then each bucket. Throws ConfigError.
Pace parse_pace(std::string_view text, const std::vector<Elements>& buckets);
std::string to_text(const Pace& pace);  // the second form

// REQUIRES: as many buckets as the pace has.
std::unique_ptr<PhantomLearner> phantom_of(const Pace& pace, const std::vector<Elements>& buckets);

// Several nodes of one simulated world may share it, and with it the other learner: that one is
// called inside single pieces of work, and nothing is fetched ahead.
class PacedLearner final : public Learner {
 public:
  // `inner` outlives this.
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
