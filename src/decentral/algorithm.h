// DecentralAlgorithm: one of the ways in which models meet. Each is a file of its own, with the
// algorithm of its paper as one linear coroutine; what they share is in training_round.h and
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

// Who is here when a view begins.
struct MembershipSnapshot {
  std::vector<bool> newcomers;          // by rank: they have the model of another, or a result
  std::vector<std::uint64_t> meetings;  // by rank, as each system counts them
};

class DecentralAlgorithm {
 public:
  DecentralAlgorithm(Node& node, const Learner& learner, const DecentralTerms& terms)
      : terms_(terms),
        node_(node),
        N_(learner.layout().averaged()),
        substance_(learner.substance()) {}
  virtual ~DecentralAlgorithm() = default;

  // How many meetings are in what this worker keeps beside its model; 0: nothing is.
  virtual std::uint64_t meetings() const { return 0; }
  // In every view, before its first round: what lost members had is made good for, and newcomers
  // get what the others have. May be cut off, and is then done again.
  virtual Task<void> begin(ViewContext& context, Range model, const MembershipSnapshot& snapshot);
  // The view is over: nothing that belongs to it is held any more.
  virtual void view_over() {}
  // One round. It ends when all samples are done, or by an exception when the view is over.
  virtual Task<void> run(TrainingRound& round) = 0;
  // The model that counts, from those of all members: into `out`. By default their mean.
  virtual Task<void> result(ViewContext& context, Range model, Range out);
  // What a checkpoint keeps of this worker beside its model and optimizer.
  virtual std::vector<PerWorkerArray> own() { return {}; }
  // From a checkpoint, before begin(): the same arrays, as far as they have come, and its result,
  // where no member has gone on from that.
  virtual Task<void> resume(ViewContext& context, std::optional<Range> result,
                            const std::vector<PerWorkerArray>& own);

 protected:
  // Memory of a model's size, which others may read. It lives as long as the system.
  Arena model_arena() { return {node_.endpoint, N_, substance_}; }
  Range scratch();

  const DecentralTerms& terms_;
  Node& node_;
  const Elements N_;  // of a model
  const Substance substance_;

 private:
  std::optional<Arena> scratch_;
};

std::unique_ptr<DecentralAlgorithm> make_decentral_algorithm(Node& node, const Learner& learner,
                                                             const DecentralTerms& terms);
// One for each file.
using MakeDecentralAlgorithm = std::unique_ptr<DecentralAlgorithm>(Node& node,
                                                                   const Learner& learner,
                                                                   const DecentralTerms& terms);
MakeDecentralAlgorithm make_average, make_block, make_elastic, make_neighbours, make_pairs,
    make_gossip, make_scatter, make_tree, make_learners, make_master, make_parts, make_stream,
    make_hogwild, make_encoded_neighbours;

// Who has seen the most meetings, and how many: the first of those.
std::pair<Rank, std::uint64_t> furthest(const MembershipSnapshot& snapshot);

// ---- What several systems do

// Of a model that is sent, so that what becomes of the first is under way before the last is.
inline constexpr Elements kModelPiece{1U << 18U};

// The first n numbers of a message; none of a phantom's.
std::span<const float> numbers_of(const Reading& message, Elements n);

// out = the mean of all members' models. `out` and `scratch` are of the model's size, and live
// until the generation is retired.
Task<void> mean_of_all(ViewContext& context, Exchange exchange, Range model, Range out,
                       Range scratch);
// out = their sum; `out` may be `model`.
Task<void> sum_of_all(ViewContext& context, Exchange exchange, Range model, Range out,
                      Range scratch);
// The arrays of `source`, to those in need of them.
Task<void> copy_from(ViewContext& context, Rank source, const std::vector<bool>& in_need,
                     std::vector<Range> arrays);
// to = a to + b with
Task<void> mix(Env& env, Range to, double a, std::span<const float> with, double b);
inline Task<void> mix(Env& env, Range to, double a, Range with, double b) {
  return mix(env, to, a, with.data(), b);
}
Task<void> clear(Env& env, Range range);
// The gradient of the step at hand becomes that of a mean sample; zero without samples.
Task<void> mean_gradient(TrainingRound& round);

}  // namespace shoal
