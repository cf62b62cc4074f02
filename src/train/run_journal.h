// RunJournal: writes a worker's run folder and shows its progress.
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
  std::uint64_t epochs = 0;  // for the progress; 0: the number of steps is given
  Step steps;
  std::uint64_t nodes = 1;  // workers and servers, if none is missing
  Screen screen;
  bool quiet = false;                                 // no progress, only warnings
  std::function<void(const std::string&)> print;      // to the user
  std::function<void(const std::string&)> warn = {};  // prints at once, even if quiet
  Duration budget{};         // training time without evaluations, after which the job ends; 0: no
                             // limit
  std::uint64_t period = 1;  // steps after which a worker's activity repeats
  // Set by a signal: leave. Only for a worker that is alone, because the others would not know.
  const std::atomic<bool>* stop = nullptr;
};

// Sums over the run, for its summary.
struct RunTotals {
  std::vector<EpochRow> rows;
  std::vector<EvaluationRow> evaluations;
  Score train;  // this worker's share; of the last evaluated epoch, else of all steps made here
  Score test;   // of the last evaluation
  std::optional<Score> members;  // of an ensemble, in that evaluation
  std::uint64_t samples = 0;
  Step steps;  // made here, without those before a resume
  Duration compute{}, overlap{}, wait{}, update{}, evaluation{};
  Time begin, end;
  double step_s = kUnknown;          // a typical step; see usual_step()
  double bytes_per_step = kUnknown;  // sent, without the first steps
  Duration missed{};                 // time of the run before this incarnation of the worker
  bool left = false;                 // before the last step
  std::uint64_t lost_nodes = 0;
  Staleness staleness;  // of all pushes to servers
  std::vector<double>
      consensus;       // consensus errors at the end of each epoch, if workers have models of their
                       // own
  bool speaks = true;  // this worker shows the progress and writes the files that exist once
  bool late = false;   // it speaks only since the last step, so another worker may have written
                       // them before it left
};

// The speaker of a view: the worker that was lost least often, because it knows most of the run;
// the first of several. Nobody if there is no worker.
NodeId spokesman(const View& view);

// The typical time of a step: the median of means over a few steps each (whole periods), without
// the first steps. Unknown if there are none.
double usual_step(std::span<const float> seconds, std::uint64_t period);

// Thread safety: none; it belongs to the node's thread.
class RunJournal final : public Journal {
 public:
  // All arguments outlive this object.
  RunJournal(Node& node, RunFolder& folder, RunJournalOptions options);

  void view_begun(const View& view) override;
  Task<void> step_done(StepReport report) override;
  Task<void> evaluated(EvaluationReport report) override;
  void saved(Step step) override;
  void measured(const Staleness& staleness) override { totals_.staleness = staleness; }
  void chosen(const std::string& what) override;
  Ending leave() override;

  // Writes pending data, and ends the live line.
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
  std::map<NodeId, Incarnation> lives_;  // the last known incarnation of nodes that were restarted
  // Counts nodes if a step is made in this view, or if it is the first ending one: in later views a
  // missing node may have left in an orderly way. A replaced incarnation was lost in any case.
  std::uint64_t lost_ = 0;
  Ending ending_ = Ending::No;            // of the view
  Generation asked_;                      // the view in which the end of the job was requested
  Score epoch_score_;                     // since the last evaluation
  Time epoch_begin_{};                    // the end of that evaluation
  std::vector<ExchangeSpan> last_spans_;  // of the last step
  Time step_begin_{};                     // the end of the last step or evaluation
  std::vector<float> step_s_;
  Bytes sent_before_;  // at the first step that counts
  std::uint64_t epoch_samples_ = 0;
  bool started_ = false;
};

}  // namespace shoal
