#include <algorithm>
#include <array>
#include <exception>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>

#include "collective/tree.h"
#include "decentral/algorithm.h"
#include "decentral/ensemble.h"
#include "decentral/worker_views.h"
#include "runtime/slices.h"

namespace shoal {
namespace {

constexpr std::ptrdiff_t kOfReplica = 2;  // arrays of a worker's own that precede the algorithm's

}  // namespace

// ---- The end of an epoch

Task<void> DecentralWorker::close_epoch(ViewContext& context) {
  co_await form_result(context);
  co_await evaluate(context);
  co_await collect_own(context);
  if (context.group.rank == Rank(0)) co_await save();
  co_await barrier(context.group, context.operations());
  closed_ = replica_.ledger.place().epoch + 1;
}

Task<void> DecentralWorker::form_result(ViewContext& context) {
  const Layout& layout = learner_.layout();
  const Range model = replica_.w().slice(Elements(0), layout.averaged());
  const Range out = replica_.next_w();
  co_await way_->result(context, model, out.slice(Elements(0), layout.averaged()));
  co_await copy(node_.env, replica_.next_slots(), replica_.slots());
  const Elements side = layout.all() - layout.averaged();
  const Range there = out.slice(layout.averaged(), side);
  co_await copy(node_.env, there, replica_.w().slice(layout.averaged(), side));
  if (!context.alone() && side > Elements(0))
    co_await tree_broadcast(context.group, Rank(0), there, context.operations());
  formed_ = true;
  if (terms_.task.audit) node_.env.record(context.event(EventKind::ResultFormed));
}

Task<double> DecentralWorker::consensus_error(ViewContext& context) {
  const std::span<const float> own = replica_.parameters().data();
  const std::span<const float> result = replica_.next_w().slice(Elements(0), replica_.N).data();
  double sum = 0;
  const SliceWork work = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      const double d = static_cast<double>(own[i]) - static_cast<double>(result[i]);
      sum += d * d;
    }
  };
  co_await in_slices(node_.env, Work::Reduce, replica_.N.value(), own.empty(), Order::Forward, 1,
                     work);
  const std::vector<double> all =
      co_await gathering_.of_all(context.group, sum, context.operations());
  co_return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
}

Task<void> DecentralWorker::evaluate(ViewContext& context) {
  if (!terms_.task.evaluate) co_return;
  if (combine_of(terms_.recipe.algorithm) == Combine::None) {
    co_await evaluate_result(context);
  } else {
    co_await evaluate_ensemble(context);
  }
}

Task<void> DecentralWorker::evaluate_ensemble(ViewContext& context) {
  const Time begin = node_.env.now();
  const EnsembleScore score = co_await evaluate_together(
      context, learner_, replica_.w(), combine_of(terms_.recipe.algorithm), gathering_);
  EvaluationReport report;
  report.step = replica_.step;
  report.epoch = replica_.ledger.place().epoch + 1;
  report.total = score.together;
  report.members = score.members;
  report.took = node_.env.now() - begin;
  if (journal_ != nullptr) co_await journal_->evaluated(report);
}

// Makes the result the replica's state during its evaluation.
Task<void> DecentralWorker::evaluate_result(ViewContext& context) {
  const double consensus = co_await consensus_error(context);
  const std::uint64_t operation = context.operations(2);
  const Time begin = node_.env.now();
  EvaluationReport report;
  report.step = replica_.step;
  report.epoch = replica_.ledger.place().epoch + 1;
  evaluation_.forget();
  replica_.exchange_copies();
  std::exception_ptr error;
  try {
    report.total = co_await evaluation_.run(context.group, operation);
  } catch (...) {
    error = std::current_exception();
  }
  replica_.exchange_copies();
  if (error) std::rethrow_exception(error);
  report.consensus = consensus;
  report.took = node_.env.now() - begin;
  if (journal_ != nullptr) co_await journal_->evaluated(report);
}

std::vector<PerWorkerArray> DecentralWorker::per_worker_arrays() {
  std::vector<PerWorkerArray> arrays;
  arrays.push_back({"model", replica_.w()});
  arrays.push_back({"optimizer", replica_.slots()});
  std::ranges::move(way_->own(), std::back_inserter(arrays));
  return arrays;
}

// Collects all workers' own arrays at rank 0, which then saves them.
Task<void> DecentralWorker::collect_own(ViewContext& context) {
  const std::uint64_t operation = context.operations();
  replica_.kept.clear();
  collected_.clear();
  if (replica_.g().phantom()) co_return;
  co_await per_worker_state_.collect(context.group, per_worker_arrays(), operation, collected_);
}

Task<void> DecentralWorker::save() {
  learner_.pause();
  replica_.exchange_copies();
  replica_.kept = std::exchange(collected_, {});
  std::exception_ptr error;
  try {
    co_await checkpoints_.save(replica_);
  } catch (...) {
    error = std::current_exception();
  }
  replica_.kept.clear();
  replica_.exchange_copies();
  if (error) std::rethrow_exception(error);
  if (journal_ != nullptr) journal_->saved(replica_.step);
}

// ---- Resuming

// Members that join, and have their own model in the checkpoint, continue with it.
Task<void> DecentralWorker::resume_own(ViewContext& context, Rank source, Since since,
                                       MembershipSnapshot& snapshot) {
  const std::uint64_t operation = context.operations(2);
  const bool comes = snapshot.newcomers[context.group.rank.value()];
  if (since == Since::Loaded) co_await copy(node_.env, replica_.next_w(), replica_.w());
  std::vector<PerWorkerArray> own = per_worker_arrays();
  co_await per_worker_state_.give_back(context.group, source, snapshot.newcomers, own, operation,
                                       replica_.kept);
  const bool has_model = comes && own.front().came;
  own.erase(own.begin(), own.begin() + kOfReplica);
  std::optional<Range> result;
  if (since == Since::Loaded)
    result = replica_.next_w().slice(Elements(0), learner_.layout().averaged());
  if (comes) co_await way_->resume(context, result, own);
  const std::array<std::uint64_t, 2> told{std::uint64_t{comes && !has_model}, way_->meetings()};
  const std::span<const std::uint64_t> mine = told;
  const std::vector<std::uint64_t> all =
      co_await gathering_.of_all(context.group, mine, operation + 1);
  for (std::size_t r = 0; r < context.size(); ++r) {
    snapshot.newcomers[r] = all[2 * r] != 0;
    snapshot.meetings[r] = all[2 * r + 1];
  }
  if (has_model) node_.env.probe("decentral: a worker went on with a model of its own");
}

}  // namespace shoal
