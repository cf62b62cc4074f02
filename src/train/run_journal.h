// The journal of a worker that leaves a run folder behind and shows its progress.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "replica/journal.h"
#include "runtime/node.h"
#include "train/progress.h"
#include "train/run_folder.h"
#include "train/trace.h"

namespace shoal {

struct RunJournalOptions {
  std::uint64_t epochs = 0;  // for the progress shown; 0: the run ends by steps
  Step steps;
  std::uint64_t nodes = 1;  // workers and servers, when none is missing
  Screen screen;
  bool quiet = false;                                 // no progress, only warnings
  std::function<void(const std::string&)> print;      // to the user
  std::function<void(const std::string&)> warn = {};  // at once, also when quiet
  Duration budget{};         // of training, without evaluations; 0: none. Then the job ends.
  std::uint64_t period = 1;  // steps after which a worker does the same again
  // Set by a signal: leave. For a worker that is alone: the others would not know.
  const std::atomic<bool>* stop = nullptr;
};

// Sums over the run, for its summary.
struct RunTotals {
  std::vector<EpochRow> rows;
  std::vector<EvaluationRow> evaluations;
  Score train;  // of the last evaluated epoch, else of all steps made here; this worker's share
  Score test;   // of the last evaluation
  std::optional<Score> members;  // of an ensemble, in that evaluation
  std::uint64_t samples = 0;
  Step steps;  // made here, without those before a resume
  Duration compute{}, overlap{}, wait{}, update{}, evaluation{};
  Time begin, end;
  double step_s = kUnknown;          // of a usual step; usual_step()
  double bytes_per_step = kUnknown;  // sent, since the first steps
  Duration missed{};                 // of the run, before this life of the worker
  bool left = false;                 // before the last step
  std::uint64_t lost_nodes = 0;
  Staleness staleness;  // of all pushes to servers
  std::vector<double>
      consensus;       // of the workers' models at the end of each epoch, if they have some
  bool speaks = true;  // for all workers: shows progress and writes what is written once
  bool late = false;   // only since the last step, so that another may have done so before it left
};

// Who speaks for the members of a view: the worker that was lost least often, so that it knows most
// of the run; of several the first. Nobody where no worker is.
NodeId spokesman(const View& view);

// How long a step usually takes: the median of the means of a few steps each, some whole periods,
// without those at the beginning. Unknown of none.
double usual_step(std::span<const float> seconds, std::uint64_t period);

// Thread safety: none; it belongs to the node's thread.
class RunJournal final : public Journal {
 public:
  // All outlive this.
  RunJournal(Node& node, RunFolder& folder, RunJournalOptions options);

  void view_begun(const View& view) override;
  Task<void> step_done(StepReport report) override;
  Task<void> evaluated(EvaluationReport report) override;
  void saved(Step step) override;
  void measured(const Staleness& staleness) override { totals_.staleness = staleness; }
  void chosen(const std::string& what) override;
  Ending leave() override;

  // What is waiting is written, and the live line ended.
  Task<void> close();
  const RunTotals& totals() const { return totals_; }
  const Trace& trace() const { return trace_; }

 private:
  void show(const std::string& text) const;
  Duration trained(Time now) const;  // without evaluations
  void end_if_spent(Time now);
  void add_spans(const StepReport& report, Time now);
  void time_step(Time now);
  EvaluationRow evaluation_row(const EpochRow& row, const EvaluationReport& report, Time now) const;

  Node& node_;
  RunFolder& folder_;
  RunJournalOptions options_;
  ProgressText progress_;
  Trace trace_;
  RunTotals totals_;
  Generation view_;
  std::map<NodeId, Incarnation> lives_;  // the last that was seen, of nodes that had others before
  // Nodes, if a step is made in this view, or it is the first that is ending: in later ones who is
  // not there may have left in peace. Who was replaced was lost in any case.
  std::uint64_t lost_ = 0;
  Ending ending_ = Ending::No;            // of the view
  Generation asked_;                      // in this view, that the job ends
  Score epoch_score_;                     // since the last evaluation
  Time epoch_begin_{};                    // when it ended
  std::vector<ExchangeSpan> last_spans_;  // of the last step
  Time step_begin_{};                     // when the last step or evaluation ended
  std::vector<float> step_s_;
  Bytes sent_before_;  // the first step that counts
  std::uint64_t epoch_samples_ = 0;
  bool started_ = false;
};

}  // namespace shoal
