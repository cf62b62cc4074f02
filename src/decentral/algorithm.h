// DecentralAlgorithm: a rule by which the workers' models meet. Each algorithm has its own file,
// with the steps of its paper in one linear coroutine; shared code is in training_round.h and
// worker.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "decentral/training_round.h"
#include "learner/learner.h"
#include "replica/per_worker_state.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

// The members when a view begins.
struct MembershipSnapshot {
  std::vector<bool> newcomers;          // by rank: begin with another's model, or with a result
  std::vector<std::uint64_t> meetings;  // by rank, as the algorithm counts them
};

class DecentralAlgorithm {
 public:
  DecentralAlgorithm(Node& node, const Learner& learner, const DecentralTerms& terms)
      : terms_(terms),
        node_(node),
        N_(learner.layout().averaged()),
        substance_(learner.substance()) {}
  virtual ~DecentralAlgorithm() = default;

  // The number of meetings that are reflected in state other than the model; 0 without such state.
  virtual std::uint64_t meetings() const { return 0; }
  // Called in every view, before its first round: compensates for the state of lost members, and
  // gives newcomers the state that the others have. May be interrupted, and is then called again.
  virtual Task<void> begin(ViewContext& context, Range model, const MembershipSnapshot& snapshot);
  // The view is over: release everything that belongs to it.
  virtual void view_over() {}
  // Trains one round. It ends when all samples are done, or by an exception when the view is over.
  virtual Task<void> run(TrainingRound& round) = 0;
  // Forms the job's model from those of all members, into `out`. By default their mean.
  virtual Task<void> result(ViewContext& context, Range model, Range out);
  // This worker's arrays, beside model and optimizer, that a checkpoint keeps.
  virtual std::vector<PerWorkerArray> own() { return {}; }
  // Restores from a checkpoint, before begin(): the arrays of own() that were found, and the saved
  // result if no member has trained since it was saved.
  virtual Task<void> resume(ViewContext& context, std::optional<Range> result,
                            const std::vector<PerWorkerArray>& own);

 protected:
  // Memory of a model's size that others may read. It lives as long as the algorithm.
  Arena model_arena() { return {node_.endpoint, N_, substance_}; }
  Range scratch();

  const DecentralTerms& terms_;
  Node& node_;
  const Elements N_;  // elements of a model
  const Substance substance_;

 private:
  std::optional<Arena> scratch_;
};

// An algorithm with its settings, which are part of the terms and live as long.
template <class Settings>
class AlgorithmOf : public DecentralAlgorithm {
 public:
  AlgorithmOf(const Settings& settings, Node& node, const Learner& learner,
              const DecentralTerms& terms)
      : DecentralAlgorithm(node, learner, terms), settings_(settings) {}

 protected:
  const Settings& settings_;
};

// Makes the algorithm that the terms choose.
std::unique_ptr<DecentralAlgorithm> make_decentral_algorithm(Node& node, const Learner& learner,
                                                             const DecentralTerms& terms);

// The first of the members with the most meetings, and their number.
std::pair<Rank, std::uint64_t> furthest(const MembershipSnapshot& snapshot);

// ---- Shared by several algorithms

// A model is sent in pieces of this size, so that the first is processed while the last is on its
// way.
inline constexpr Elements kModelPiece{1U << 18U};

// The first n numbers of a message; empty for a phantom.
std::span<const float> numbers_of(const Reading& message, Elements n);

// out = the mean of all members' models. `out` and `scratch` are of the model's size, and live
// until the generation is retired.
Task<void> mean_of_all(ViewContext& context, Exchange exchange, Range model, Range out,
                       Range scratch);
// out = the sum of all members' models; `out` may be `model`.
Task<void> sum_of_all(ViewContext& context, Exchange exchange, Range model, Range out,
                      Range scratch);
// Copies the arrays of `source` to the members in need of them.
Task<void> copy_from(ViewContext& context, Rank source, const std::vector<bool>& in_need,
                     std::vector<Range> arrays);
// to = a to + b with
Task<void> mix(Env& env, Range to, double a, std::span<const float> with, double b);
inline Task<void> mix(Env& env, Range to, double a, Range with, double b) {
  return mix(env, to, a, with.data(), b);
}
Task<void> clear(Env& env, Range range);
// Turns the current step's gradient sum into the mean over its samples; zero without samples.
Task<void> mean_gradient(TrainingRound& round);

}  // namespace shoal
