// A worker whose model meets others, through views: what the systems share beside their legs.
//   worker.cc        a view begins, a leg, its end
//   worker_epoch.cc  an epoch's end: the result, its evaluation, what is saved; and a resume
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "collective/dissemination.h"
#include "decentral/leg.h"
#include "decentral/rendezvous.h"
#include "decentral/worker.h"
#include "learner/learner.h"
#include "runtime/node.h"
#include "runtime/view_watch.h"
#include "strategy/own_state.h"
#include "strategy/shared_evaluation.h"

namespace shoal {

// What those do who are in a view already: nobody is, or they have gone on from a checkpoint.
enum class Since : std::uint8_t { Loaded, GoneOn };

class DecentralWorker {
 public:
  DecentralWorker(Node& node, Learner& learner, Keeper& keeper, Replica& replica,
                  const DecentralOptions& options, const DecentralTerms& terms, Journal* journal)
      : node_(node),
        learner_(learner),
        keeper_(keeper),
        replica_(replica),
        options_(options),
        terms_(terms),
        journal_(journal),
        watch_(node.membership),
        evaluation_(learner, replica),
        way_(make_rendezvous(node, learner, terms)) {}

  Task<void> run();

 private:
  Task<bool> in_view(ViewPtr view);
  Task<bool> to_the_end(Company& company);
  Task<void> level_up(Company& company);
  Task<void> hand_over(Company& company, Rank source, const std::vector<bool>& in_need);
  Task<void> tell_place(Company& company, Rank source);
  Task<void> resume_own(Company& company, Rank source, Since since, Roll& roll);
  Task<void> train(Company& company);
  Task<void> end_leg(Company& company);
  Task<void> close_epoch(Company& company);
  Task<void> form_result(Company& company);
  Task<double> consensus_error(Company& company);
  Task<void> evaluate(Company& company);
  Task<void> evaluate_result(Company& company);
  Task<void> evaluate_ensemble(Company& company);
  std::vector<OwnArray> own_arrays();
  Task<void> collect_own(Company& company);
  Task<void> save();

  std::uint64_t samples_left() const;  // of the epoch at hand
  bool epoch_over() const { return samples_left() == 0; }
  std::uint64_t epochs_done() const;
  bool ends() const { return stops_ != Ending::No || closed_ >= options_.epochs; }

  Node& node_;
  Learner& learner_;
  Keeper& keeper_;
  Replica& replica_;
  const DecentralOptions& options_;
  const DecentralTerms& terms_;
  Journal* journal_;
  ViewWatch watch_;
  SharedEvaluation evaluation_;
  std::unique_ptr<Rendezvous> way_;
  Generation last_;  // the view that this worker is or was in
  std::uint64_t legs_ = 0;
  std::uint64_t closed_ = 0;
  Ending stops_ = Ending::No;
  bool formed_ = false;          // all have the result of the last epoch
  bool resumes_ = false;         // a checkpoint has what workers had of their own
  std::vector<Share> finished_;  // in the leg whose end is next
  // What others may read or write until its generation is retired.
  std::deque<Leg> past_;
  Gathering gathering_;
  OwnState own_state_;
  std::vector<KeptArray> collected_;  // of all, to be saved: others lend it
  std::vector<std::uint64_t> words_;
};

}  // namespace shoal
