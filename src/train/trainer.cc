#include "train/trainer.h"

#include <algorithm>
#include <utility>

#include "checkpoint/sha256.h"
#include "decentral/worker.h"
#include "ps/served.h"
#include "recipe/axes.h"
#include "sync/sync.h"
#include "train/folder_checkpoint_store.h"

namespace shoal {
namespace {

// Records where the state came from. The settings of this run replace those in the folder only if
// the state there fits them.
class WatchedCheckpointStore final : public CheckpointStore {
 public:
  WatchedCheckpointStore(FolderCheckpointStore& checkpoints, RunFolder& folder,
                         const TrainPlan& plan, const RunJournalOptions& options,
                         TrainResult& result)
      : checkpoints_(checkpoints),
        folder_(folder),
        plan_(plan),
        options_(options),
        result_(result) {}
  // A phantom has no state to keep.
  Task<void> save(Replica& replica) override {
    if (!replica.g().phantom()) co_await checkpoints_.save(replica);
  }
  Task<bool> load(Replica& replica) override {
    result_.resumed = co_await checkpoints_.load(replica);
    result_.first_step = replica.step;
    for (const std::string& warning : checkpoints_.warnings())
      if (options_.warn) options_.warn(warning);
    co_await folder_.write_config(plan_.config);
    co_return result_.resumed;
  }

 private:
  FolderCheckpointStore& checkpoints_;
  RunFolder& folder_;
  const TrainPlan& plan_;
  const RunJournalOptions& options_;
  TrainResult& result_;
};

// A checkpoint can only be resumed with the same optimizer and order of samples.
std::vector<std::string> terms_of(const TrainPlan& plan) {
  return {fmt::format("optimizer {}", name_of(plan.rule)),
          fmt::format("seed {}", plan.seed.value()), fmt::format("samples {}", plan.samples)};
}

Task<void> carry_out(Node& node, Learner& learner, CheckpointStore& checkpoints, Replica& replica,
                     const TrainPlan& plan, Journal& journal) {
  if (const auto* const served = std::get_if<Served>(&plan.recipe))
    return served_node(node, learner, checkpoints, replica, plan, *served, &journal);
  if (const auto* const decentral = std::get_if<Decentral>(&plan.recipe))
    return decentral_worker(node, learner, checkpoints, replica, plan, *decentral, &journal);
  return sync_worker(node, learner, checkpoints, replica, plan, std::get<InStep>(plan.recipe),
                     &journal, {.tune_buckets = plan.tune_buckets});
}

Task<std::string> digest(Env& env, ConstBuf state) {
  std::string hex;
  if (state.data == nullptr) co_return hex;  // a phantom
  co_await env.work(Work::Io, Elements(state.size.value() / sizeof(float)), [&] {
    Sha256 sha;
    sha.add(std::span(state.data, state.size.value()));
    hex = sha.hex();
  });
  co_return hex;
}

Summary summarize(const TrainPlan& plan, const RunTotals& totals, const Ledger& ledger, Step step) {
  Summary s;
  s.system = plan.system;
  s.world = plan.world;
  s.recipe = axes_of(plan.recipe);
  s.model = plan.model;
  s.data = plan.data;
  s.seed = plan.seed;
  s.workers = plan.workers;
  s.servers = servers_of(plan.recipe);
  const LedgerPlace place = ledger.place();
  s.epochs = (place.epoch * plan.samples + place.done()) / plan.samples;
  s.samples = plan.samples;
  s.batch = plan.batch;
  s.steps = step;
  s.train_loss = mean_loss(totals.train);
  s.train_accuracy = accuracy(totals.train);
  s.test_loss = mean_loss(totals.test);
  s.test_accuracy = accuracy(totals.test);
  if (totals.members) {
    s.members_loss = mean_loss(*totals.members);
    s.members_accuracy = accuracy(*totals.members);
  }
  const double trained = seconds(totals.end - totals.begin) - seconds(totals.evaluation);
  s.begin_s = seconds(totals.begin);
  s.wall_s = trained + seconds(totals.missed);
  s.eval_s = seconds(totals.evaluation);
  s.samples_per_s = trained > 0 ? static_cast<double>(totals.samples) / trained : kUnknown;
  s.compute_s = seconds(totals.compute);
  s.overlap_s = seconds(totals.overlap);
  s.wait_s = seconds(totals.wait);
  s.update_s = seconds(totals.update);
  if (plan.predicted) {
    s.predicted_step_s = plan.predicted->step_s;
    s.predicted_bytes_per_step = plan.predicted->bytes_per_step;
  }
  s.measured_step_s = totals.step_s;
  s.measured_bytes_per_step = totals.bytes_per_step;
  s.lost_nodes = totals.lost_nodes;
  s.staleness = totals.staleness;
  s.consensus = totals.consensus;
  s.evaluations = totals.evaluations;
  const auto ended = [tally = ledger.tally()](SampleEnd end) {
    return tally.ended[static_cast<std::size_t>(end)];
  };
  s.ledger.consumed = ended(SampleEnd::Applied);
  s.ledger.dropped = ended(SampleEnd::Dropped);
  s.ledger.lost = ended(SampleEnd::Lost);
  s.ledger.partial = ended(SampleEnd::Partial);
  s.notes = plan.notes;
  return s;
}

}  // namespace

std::string length_text(const TrainPlan& plan) {
  const std::string steps = fmt::format("{} steps", plan.steps);
  if (plan.budget <= Duration::zero()) return steps;
  const std::string time = fmt::format("{:.4g} s", seconds(plan.budget));
  return plan.by_time ? time : fmt::format("{}, {} at most", steps, time);
}

void set_length(RunJournalOptions& journal, const TrainPlan& plan) {
  journal.budget = plan.budget;
  journal.epochs = plan.by_time ? 0 : plan.epochs;
  journal.steps = plan.by_time ? Step() : plan.steps;
}

std::uint64_t period_of(const Recipe& recipe) {
  if (const auto* const decentral = std::get_if<Decentral>(&recipe))
    return local_steps(decentral->algorithm);
  const auto* const served = std::get_if<Served>(&recipe);
  if (served == nullptr) return 1;
  const ParameterServerOptions& ps = served->ps;
  return std::uint64_t{ps.push_every} * ps.write_back * steps_of(ps.fetch);
}

Task<void> train_worker(Node& node, Learner& learner, const TrainPlan& plan,
                        const RunJournalOptions& given, TrainResult& result) {
  RunJournalOptions options = given;
  options.period = period_of(plan.recipe);
  RunFolderOptions place = plan.folder;
  place.writer = node.id;
  RunFolder folder(node.files, place);
  FolderCheckpointStore snapshots(node, "checkpoint", learner.layout(), terms_of(plan));
  WatchedCheckpointStore checkpoints(snapshots, folder, plan, options, result);
  Replica replica(node.endpoint, learner, Ledger(plan.seed, plan.samples), slots(plan.rule));
  RunJournal journal(node, folder, options);
  std::exception_ptr error;
  try {
    co_await carry_out(node, learner, checkpoints, replica, plan, journal);
  } catch (...) {
    error = std::current_exception();
  }
  co_await journal.close();
  if (error) std::rethrow_exception(error);

  result.totals = journal.totals();
  result.summary = summarize(plan, result.totals, replica.ledger, replica.step);
  result.summary.parameters = learner.layout().parameters().value();
  result.summary.memory_before = plan.memory_before.value();
  if (plan.memory_peak) result.summary.memory_peak = plan.memory_peak().value();
  result.summary.bytes_sent_per_worker = static_cast<double>(node.endpoint.sent().value());
  result.summary.params_sha256 = co_await digest(node.env, replica.parameters().bytes());
  if (plan.take_state) {
    const Range state = replica.w();
    co_await node.env.work(Work::Io, state.n, [&] { plan.take_state(state.data()); });
  }
  if (result.totals.late) {
    const std::string told = co_await folder.read_summary();
    const std::string sha = told.empty() ? "" : parse_summary(told, "summary.json").params_sha256;
    result.totals.speaks = sha != result.summary.params_sha256;
  }
  if (!result.totals.speaks) co_return;
  co_await folder.write_trace(journal.trace());
  co_await folder.write_summary(result.summary);
}

}  // namespace shoal
