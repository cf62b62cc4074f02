#include "sync/sync.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/hash.h"
#include "collective/dissemination.h"
#include "collective/group.h"
#include "replica/per_worker_state.h"
#include "replica/recovery.h"
#include "replica/shared_evaluation.h"
#include "replica/state_transfer.h"
#include "runtime/task_group.h"
#include "runtime/view_watch.h"
#include "sync/operations.h"
#include "sync/sync_step.h"

namespace shoal {
namespace {

constexpr GroupId kGroup{1};

class Worker {
 public:
  Worker(Node& node, Learner& learner, CheckpointStore& checkpoints, Replica& replica,
         const SyncContext& context, Journal* journal)
      : node_(node),
        learner_(learner),
        checkpoints_(checkpoints),
        replica_(replica),
        context_(context),
        journal_(journal),
        step_(node, learner, replica, context),
        evaluation_(learner, replica),
        watch_(node.membership),
        transfer_(node, learner, replica, kTransferOperation) {}

  // Trains through all views until all workers have finished the last step.
  Task<void> run();

 private:
  // ---- A view. True: the job is done; false: the view changed.
  Task<bool> in_view(ViewPtr view);
  Task<bool> train(const Group& group);
  void tell_of_lost(const View& view);
  // Copies parts of the state from their owners, some of which may be lost.
  Task<void> gather_parts();

  // ---- A step
  // Before the next one; the same on all members.
  Ending leave() const { return journal_ == nullptr ? Ending::No : journal_->leave(); }
  bool finished() const {
    return replica_.step >= context_.task.steps || leave() == Ending::Complete;
  }
  bool ends() const { return finished() || leave() != Ending::No; }
  Task<bool> make_step(const Group& group);
  Task<void> prepare_step(const Group& group);
  Task<void> commit(Generation generation, Rank rank);
  bool evaluation_due() const;
  Task<void> evaluate(const Group& group);

  // ---- The state: saved, and agreed on when a view begins
  Task<bool> save_if_due(const Group& group);
  Task<bool> save_all(const Group& group);
  Task<void> save();
  Task<void> take_own(const Group& group, Rank source);
  Task<void> level_up(const Group& group);
  Task<bool> choose_anew(const Group& group);
  Task<void> choose(const Group& group, bool anew);
  Task<void> receive_state(const Group& group);
  void agreed(Generation generation);

  // A place in an epoch, counted over all epochs.
  std::uint64_t position(std::uint64_t epoch, std::uint64_t at) const {
    return epoch * replica_.ledger.samples_per_epoch() + at;
  }
  // The hash of the state before this step, for checkers.
  std::uint64_t hash() {
    if (!context_.task.audit) return 0;
    Hash both;
    both.add(hash_of(std::span<const float>(replica_.w().data())));
    both.add(step_.held().hash_of_slots());
    return both.value();
  }
  void note(EventKind kind, Generation generation, std::uint64_t a, std::uint64_t b,
            std::uint64_t c);

  Node& node_;
  Learner& learner_;
  CheckpointStore& checkpoints_;
  Replica& replica_;
  const SyncContext& context_;
  Journal* journal_;  // may be null
  SyncStep step_;
  SharedEvaluation evaluation_;
  Step evaluated_;   // before this step the state was last evaluated
  Generation last_;  // the view that this worker is or was in
  ViewPtr before_;   // the last one
  ViewWatch watch_;
  StateTransfer transfer_;
  Gathering gathering_;
  PerWorkerState own_;
};

Task<void> Worker::run() {
  std::exception_ptr error;
  try {
    const InView body = [this](ViewPtr view) { return in_view(std::move(view)); };
    co_await in_each_view(node_, kGroup, last_, body);
  } catch (const Cancelled&) {
    throw;
  } catch (...) {
    error = std::current_exception();
  }
  // In every case the replica may be destroyed only after the network has released its ranges.
  if (error) node_.membership.fail(error);
  co_await node_.endpoint.retire(kGroup, last_);
  if (error) std::rethrow_exception(error);
  note(EventKind::WorkerDone, replica_.lineage, replica_.step.value(), hash(), 0);
}

Task<bool> Worker::in_view(ViewPtr view) {
  replica_.ledger.revoke_all();
  const Group group(node_, kGroup, view);
  if (journal_ != nullptr) journal_->view_begun(*view);
  tell_of_lost(*view);
  const Context context = co_await current();
  TaskGroup lending(context);
  step_.begin_lending(lending);
  bool done = false;
  std::exception_ptr error;
  try {
    done = co_await watch_.during(group.view->generation, train(group));
  } catch (...) {
    error = std::current_exception();
  }
  // Members in the next view do not read memory that was lent in this one.
  step_.refuse_early_pass();
  try {
    co_await gather_parts();
  } catch (...) {
    if (!error) error = std::current_exception();
  }
  step_.held().release();
  lending.cancel();
  co_await lending.join();
  if (error) std::rethrow_exception(error);
  co_return done;
}

// The residual of a lost worker is lost with it; only the survivors can report it.
void Worker::tell_of_lost(const View& view) {
  const ViewPtr before = std::exchange(before_, std::make_shared<const View>(view));
  if (before == nullptr || journal_ == nullptr || step_.per_worker_state().empty()) return;
  for (const Member& member : before->members)
    if (view.find(member.node) == nullptr)
      journal_->chosen(
          fmt::format("the unsent part of node {}'s gradients is lost with it", member.node));
}

// ---- The loop over steps

Task<bool> Worker::train(const Group& group) {
  const bool level = co_await watch_.before_next_view(level_up(group));
  if (!level) co_return false;

  while (true) {
    if (evaluation_due()) {
      const bool evaluated = co_await watch_.before_next_view(evaluate(group));
      if (!evaluated) co_return false;
    }
    if (ends()) break;
    if (step_.links_changed()) {
      const bool chosen = co_await choose_anew(group);
      if (!chosen) co_return false;
    }
    const bool made = co_await make_step(group);
    if (!made) co_return false;
    co_await commit(group.view->generation, group.rank);
    const bool saved = co_await save_if_due(group);
    if (!saved) co_return false;
  }
  // The result is safe before the first worker leaves: a worker that comes later finds it.
  const bool saved = co_await save_all(group);
  if (!saved) co_return false;
  co_return co_await watch_.before_next_view(barrier(group, kBarrierOperation));
}

// False: the step was aborted for a new view, and nothing has changed.
Task<bool> Worker::make_step(const Group& group) {
  bool counts = false;
  std::exception_ptr error;
  try {
    counts = co_await watch_.before_next_view(prepare_step(group));
    if (counts) co_await step_.finish(group);
  } catch (...) {
    error = std::current_exception();
  }
  step_.let_go();
  if (!counts) step_.give_up();
  if (error) std::rethrow_exception(error);
  if (!counts) node_.env.probe("sync: a step was dropped for a new view");
  co_return counts;
}

// All steps that wait for other members. A member without a state gets it meanwhile.
Task<void> Worker::prepare_step(const Group& group) {
  for (const MicroShard& micro_shard : step_.deal(*group.view))
    if (micro_shard.winner == group.rank)
      for (const Share& share : micro_shard.shares)
        note(EventKind::ShareAdded, group.view->generation, replica_.step.value(),
             position(share.epoch, share.at), share.n);
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    if (transfer_.due()) {
      node_.env.probe("sync: the state came during a step");
      tasks.spawn(receive_state(group));
    }
    tasks.spawn(step_.prepare(group));
    tasks.spawn(step_.prefetch(group));
    co_return;
  });
  // No member may finish before all have told: after a loss all have the state before the step.
  if (node_.env.buggify("sync: late to tell"))
    co_await node_.env.sleep(std::chrono::milliseconds(20));
  co_await step_.tell(group);
}

Task<void> Worker::commit(Generation generation, Rank rank) {
  if (node_.env.buggify("sync: late to commit"))
    co_await node_.env.sleep(std::chrono::milliseconds(3));
  const Step t = replica_.step;
  StepReport report = step_.commit();
  report.rank = rank;
  const LedgerPlace place = replica_.ledger.place();
  const bool in_order =
      !waits_by<PartialGradients>(context_.recipe) && context_.recipe.epoch_fraction >= 1;
  note(EventKind::StepApplied, generation, t.value(), hash(),
       in_order ? position(place.epoch, place.done()) : kNoPosition);
  if (journal_ != nullptr) co_await journal_->step_done(std::move(report));
}

// ---- The state is saved

Task<bool> Worker::save_if_due(const Group& group) {
  const bool due = context_.task.save_every > Step(0) &&
                   replica_.step.value() % context_.task.save_every.value() == 0;
  if (due) co_return co_await save_all(group);
  if (group.rank == Rank(0) && node_.env.buggify("sync: saved early")) co_await save();
  co_return true;
}

// By all members, if each has its own state; false: the view changed.
Task<bool> Worker::save_all(const Group& group) {
  std::vector<PerWorkerArray> own = step_.per_worker_state();
  if (!own.empty() && group.size() > 1) {
    const std::uint64_t number = operation(operations::kPerWorker, replica_.step);
    const bool collected = co_await watch_.before_next_view(
        own_.collect(group, std::move(own), number, replica_.kept));
    if (!collected) replica_.kept.clear();
    if (!collected) co_return false;
  }
  if (group.rank == Rank(0)) co_await save();
  replica_.kept.clear();
  co_return true;
}

Task<void> Worker::take_own(const Group& group, Rank source) {
  std::vector<PerWorkerArray> own = step_.per_worker_state();
  const std::vector<bool> all(group.size(), true);
  if (!own.empty())
    co_await own_.give_back(group, source, all, own,
                            operation(operations::kPerWorker, replica_.step, 1), replica_.kept);
  step_.inherit(replica_.kept, *group.view);
  replica_.kept.clear();
}

Task<void> Worker::save() {
  const std::uint64_t step = replica_.step.value();
  const std::uint64_t state = hash();
  note(EventKind::CheckpointBegun, last_, step, state, 0);
  learner_.pause();
  co_await step_.held().gather();
  co_await checkpoints_.save(replica_);
  if (journal_ != nullptr) journal_->saved(replica_.step);
  note(EventKind::CheckpointDone, last_, step, state, 0);
}

Task<void> Worker::gather_parts() {
  co_await step_.held().gather();
  step_.held().release();
}

// ---- Evaluation

bool Worker::evaluation_due() const {
  if (!context_.task.evaluate || replica_.step == Step(0) || evaluated_ >= replica_.step)
    return false;
  const LedgerPlace place = replica_.ledger.place();
  return finished() || place.done() % replica_.ledger.samples_per_epoch() == 0;
}

Task<void> Worker::evaluate(const Group& group) {
  const Time begin = node_.env.now();
  EvaluationReport report;
  report.step = replica_.step;
  const LedgerPlace place = replica_.ledger.place();
  const std::uint64_t all = replica_.ledger.samples_per_epoch();
  report.epoch = (position(place.epoch, place.done()) + all - 1) / all;
  report.total = co_await evaluation_.run(group, operation(operations::kEvaluation, replica_.step));
  report.took = node_.env.now() - begin;
  evaluated_ = replica_.step;
  if (journal_ != nullptr) co_await journal_->evaluated(report);
}

// ---- All members of a view come to the same state

Task<void> Worker::level_up(const Group& group) {
  transfer_.begin();
  const Standing own{replica_.step.value(), replica_.lineage.value(), replica_.valid ? 1U : 0U,
                     evaluated_.value()};
  const std::vector<Standing> standings =
      co_await gathering_.of_all(group, own, kStandingsOperation);

  const RecoveryPlan plan = plan_recovery(standings);
  evaluated_ = evaluated_by_all(standings);
  transfer_.agreed(plan.source, in_need(standings, plan), group.rank);
  if (group.rank == plan.source && plan.from_checkpoint) {
    const bool loaded = co_await checkpoints_.load(replica_);
    if (!loaded) {
      replica_.restore(Progress{});
      transfer_.make_initial_state();
    }
    if (loaded) node_.env.probe("sync: the state was loaded from a checkpoint");
    replica_.lineage = group.view->generation;
    step_.state_arrived();
    note(EventKind::CheckpointRead, group.view->generation, replica_.step.value(), hash(),
         loaded ? 1 : 0);
  }
  if (replica_.valid) agreed(group.view->generation);
  // A member without a state must at least know step and ledger before it can take part.
  co_await transfer_.announce(group);
  if (plan.from_checkpoint) co_await take_own(group, plan.source);
  co_await choose(group, false);
  // An evaluation or a save before the next step needs the state on all members. A resumed job
  // begins with all members, as it would have continued.
  const std::vector<bool>& guests = transfer_.in_need();
  const bool on = goes_on(guests) && !transfer_.initial() && !plan.from_checkpoint && !ends() &&
                  !evaluation_due();
  step_.begin_view(*group.view, on ? guests : std::vector<bool>(group.size(), false));
  if (transfer_.due() && !on) co_await receive_state(group);
}

// In the middle of a view.
Task<bool> Worker::choose_anew(const Group& group) {
  co_await gather_parts();
  const bool chosen = co_await watch_.before_next_view(choose(group, true));
  if (!chosen) co_return false;
  step_.begin_view(*group.view, std::vector<bool>(group.size(), false));
  co_return true;
}

Task<void> Worker::choose(const Group& group, bool anew) {
  const std::string chosen = co_await step_.choose_exchange(group, anew);
  if (journal_ != nullptr && !chosen.empty()) journal_->chosen(chosen);
}

Task<void> Worker::receive_state(const Group& group) {
  co_await transfer_.run(group);
  if (!transfer_.in_need()[group.rank.value()]) co_return;
  agreed(group.view->generation);
  step_.state_arrived();
}

void Worker::agreed(Generation generation) {
  note(EventKind::StateAgreed, generation, replica_.step.value(), hash(), replica_.lineage.value());
}

void Worker::note(EventKind kind, Generation generation, std::uint64_t a, std::uint64_t b,
                  std::uint64_t c) {
  Event event;
  event.kind = kind;
  event.generation = generation;
  event.group = kGroup;
  event.a = a;
  event.b = b;
  event.c = c;
  node_.env.record(event);
}

}  // namespace

Task<void> sync_worker(Node& node, Learner& learner, CheckpointStore& checkpoints, Replica& replica,
                       const TrainingTask& task, const InStep& recipe, Journal* journal,
                       SyncTuning tuning) {
  if (task.all_batches() == 0) throw ConfigError("a global batch of 0 samples; take at least 1");
  require_valid(task.rule);
  if (traits(recipe.encode.as).gathers_momentum && task.rule.kind != RuleKind::Sgd)
    throw ConfigError(
        fmt::format("--encode {} with --optimizer {}: its messages already contain momentum; take "
                    "--optimizer sgd, or --encode topk:0.001+ef",
                    to_string(recipe.encode.as), name_of(task.rule)));
  SHOAL_CHECK_EQ(replica.ledger.samples_per_epoch(), task.samples);
  SHOAL_CHECK_EQ(replica.slots().n, learner.layout().parameters() * slots(task.rule));
  const SyncContext context(task, recipe, tuning);
  Worker worker(node, learner, checkpoints, replica, context, journal);
  co_await worker.run();
}

}  // namespace shoal
