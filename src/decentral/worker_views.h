// A worker with its own model, through changes of the view: the code around the rounds.
//   worker.cc        the begin of a view, a round, its end
//   worker_epoch.cc  the end of an epoch: the result, its evaluation and saving; resuming
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "collective/dissemination.h"
#include "decentral/algorithm.h"
#include "decentral/training_round.h"
#include "decentral/worker.h"
#include "learner/learner.h"
#include "replica/per_worker_state.h"
#include "replica/shared_evaluation.h"
#include "runtime/node.h"
#include "runtime/view_watch.h"

namespace shoal {

// Whether the source's state was just loaded from a checkpoint, or was trained since then.
enum class Since : std::uint8_t { Loaded, GoneOn };

class DecentralWorker {
 public:
  DecentralWorker(Node& node, Learner& learner, CheckpointStore& checkpoints, Replica& replica,
                  const DecentralTerms& terms, Journal* journal)
      : node_(node),
        learner_(learner),
        checkpoints_(checkpoints),
        replica_(replica),
        terms_(terms),
        journal_(journal),
        watch_(node.membership),
        evaluation_(learner, replica),
        way_(make_decentral_algorithm(node, learner, terms)) {}

  Task<void> run();

 private:
  Task<bool> in_view(ViewPtr view);
  Task<bool> to_the_end(ViewContext& context);
  Task<void> level_up(ViewContext& context);
  Task<void> hand_over(ViewContext& context, Rank source, const std::vector<bool>& in_need);
  Task<void> tell_place(ViewContext& context, Rank source);
  Task<void> resume_own(ViewContext& context, Rank source, Since since,
                        MembershipSnapshot& snapshot);
  Task<void> train(ViewContext& context);
  Task<void> end_round(ViewContext& context);
  Task<void> close_epoch(ViewContext& context);
  Task<void> form_result(ViewContext& context);
  Task<double> consensus_error(ViewContext& context);
  Task<void> evaluate(ViewContext& context);
  Task<void> evaluate_result(ViewContext& context);
  Task<void> evaluate_ensemble(ViewContext& context);
  std::vector<PerWorkerArray> per_worker_arrays();
  Task<void> collect_own(ViewContext& context);
  Task<void> save();

  std::uint64_t samples_left() const;  // of the current epoch
  bool epoch_over() const { return samples_left() == 0; }
  std::uint64_t epochs_done() const;
  bool ends() const { return stops_ != Ending::No || closed_ >= terms_.length.epochs; }

  Node& node_;
  Learner& learner_;
  CheckpointStore& checkpoints_;
  Replica& replica_;
  const DecentralTerms& terms_;
  Journal* journal_;
  ViewWatch watch_;
  SharedEvaluation evaluation_;
  std::unique_ptr<DecentralAlgorithm> way_;
  Generation last_;  // the view that this worker is in, or was in last
  std::uint64_t rounds_ = 0;
  std::uint64_t closed_ = 0;
  Ending stops_ = Ending::No;
  bool formed_ = false;          // all have the result of the last epoch
  bool resumes_ = false;         // the checkpoint has workers' own arrays
  std::vector<Share> finished_;  // in the last round, not yet exchanged
  // Buffers that others may read or write until their generation is retired.
  std::deque<TrainingRound> past_;
  Gathering gathering_;
  PerWorkerState per_worker_state_;
  std::vector<KeptArray> collected_;  // all workers', to be saved; borrowed from them
  std::vector<std::uint64_t> words_;
};

}  // namespace shoal
