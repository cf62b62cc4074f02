#include "decentral/worker.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "collective/dissemination.h"
#include "decentral/algorithm.h"
#include "decentral/worker_views.h"
#include "ps/sample_scheduler.h"
#include "replica/segments.h"
#include "runtime/task_group.h"

namespace shoal {
namespace {

constexpr GroupId kDecentral{5};

// A member's report when a view begins.
struct Standing {
  std::uint64_t lineage = 0;
  std::uint64_t rounds = 0;    // rounds whose end it has seen
  std::uint64_t closed = 0;    // epochs whose results it has seen evaluated and saved
  std::uint64_t meetings = 0;  // as its algorithm counts them
  std::uint64_t valid = 0;     // 0: it is a newcomer
  std::uint64_t formed = 0;    // whether it has the result of the last epoch
  std::uint64_t keeps = 0;     // whether it has loaded all workers' own arrays
};

}  // namespace

Task<void> DecentralWorker::run() {
  std::exception_ptr error;
  try {
    const InView body = [this](ViewPtr view) { return in_view(std::move(view)); };
    co_await in_each_view(node_, kDecentral, last_, body);
  } catch (const Cancelled&) {
    throw;
  } catch (...) {
    error = std::current_exception();
  }
  if (error) node_.membership.fail(error);
  co_await node_.endpoint.retire(kDecentral, last_);
  if (error) std::rethrow_exception(error);
  replica_.exchange_copies();
}

Task<bool> DecentralWorker::in_view(ViewPtr view) {
  past_.clear();
  replica_.ledger.revoke_all();
  const Group group(node_, kDecentral, view);
  if (journal_ != nullptr) journal_->view_begun(*view);
  ViewContext context(node_, group, watch_);
  bool done = false;
  bool over = false;
  std::exception_ptr error;
  try {
    done = co_await watch_.during(view->generation, to_the_end(context));
  } catch (const RoundAborted&) {
    over = true;
  } catch (...) {
    error = std::current_exception();
  }
  if (over) node_.env.probe("decentral: a round was cut off by a new view");
  // Before the next view: other members wait until this one returns borrowed buffers.
  way_->view_over();
  collected_.clear();
  if (error) std::rethrow_exception(error);
  co_return done;
}

Task<bool> DecentralWorker::to_the_end(ViewContext& context) {
  co_await context.with_others(level_up(context));
  while (true) {
    if (journal_ != nullptr) stops_ = journal_->leave();
    if (ends()) break;
    if (!epoch_over()) co_await train(context);
    if (epoch_over()) co_await context.with_others(close_epoch(context));
  }
  // A stopped job saves the current model; a job that was complete before has no result here yet.
  if (stops_ != Ending::No || !formed_) co_await context.with_others(form_result(context));
  const LedgerPlace place = replica_.ledger.place();
  const bool anew = place.epoch >= closed_ && place.done() > 0;
  if (stops_ == Ending::Complete && anew) co_await context.with_others(evaluate(context));
  if (stops_ != Ending::No) {
    co_await context.with_others(collect_own(context));
    if (context.group.rank == Rank(0)) co_await save();
  }
  co_await context.with_others(barrier(context.group, context.operations()));
  co_return true;
}

// ---- The begin of a view

Task<void> DecentralWorker::level_up(ViewContext& context) {
  const Standing own{replica_.lineage.value(),
                     rounds_,
                     closed_,
                     way_->meetings(),
                     replica_.valid ? 1U : 0U,
                     formed_ ? 1U : 0U,
                     replica_.kept.empty() ? 0U : 1U};
  const std::vector<Standing> all =
      co_await gathering_.of_all(context.group, own, context.operations());
  // A member that has seen the end of a round knows all shares done in it.
  Rank source(0);
  for (std::uint32_t r = 1; r < all.size(); ++r) {
    const auto key = [](const Standing& s) {
      return std::tuple(s.valid, s.lineage, s.rounds, s.keeps);
    };
    if (key(all[r]) > key(all[source.value()])) source = Rank(r);
  }
  const Standing& first = all[source.value()];
  const bool nobody = first.valid == 0;
  if (nobody && context.group.rank == source) {
    const bool loaded = co_await checkpoints_.load(replica_);
    if (!loaded) {
      replica_.restore(Progress{});
      learner_.initialize(replica_.w());
      std::ranges::fill(replica_.slots().data(), 0.0F);
    }
    replica_.lineage = context.group.view->generation;
    replica_.valid = false;
    closed_ = epochs_done();
  }
  MembershipSnapshot snapshot;
  std::vector<bool> need;
  std::uint64_t closed = nobody ? closed_ : first.closed;
  for (std::uint32_t r = 0; r < all.size(); ++r) {
    const bool has = all[r].valid != 0 && all[r].lineage == first.lineage;
    need.push_back(!has && Rank(r) != source);
    snapshot.newcomers.push_back(!has);
    snapshot.meetings.push_back(has ? all[r].meetings : 0);
    if (has) closed = std::min(closed, all[r].closed);
  }
  formed_ = std::ranges::all_of(all, [](const Standing& s) { return s.formed != 0; });
  const bool behind = first.rounds > rounds_ || need[context.group.rank.value()];
  if (need[context.group.rank.value()]) replica_.valid = false;
  co_await tell_place(context, source);
  co_await hand_over(context, source, need);
  if (behind) finished_.clear();
  if (!nobody) closed_ = closed;
  const Since since = nobody ? Since::Loaded : Since::GoneOn;
  // A complete job needs only its result.
  if (resumes_ && closed_ < terms_.length.epochs)
    co_await resume_own(context, source, since, snapshot);
  replica_.valid = true;  // Only now: a view that ends earlier leaves all members as they were.
  co_await way_->begin(context, replica_.w().slice(Elements(0), learner_.layout().averaged()),
                       snapshot);
  co_await end_round(context);
}

// Sends the source's position in training, from which all continue.
Task<void> DecentralWorker::tell_place(ViewContext& context, Rank source) {
  const std::uint64_t operation = context.operations(2);
  const bool own = context.group.rank == source;
  if (own) {
    resumes_ = !replica_.kept.empty();
    words_ = to_words(replica_.ledger.place());
    words_.insert(words_.begin(), {replica_.step.value(), replica_.lineage.value(), rounds_,
                                   closed_, std::uint64_t{resumes_}});
  }
  const std::uint64_t length = own ? words_.size() : 0;
  const std::vector<std::uint64_t> lengths =
      co_await gathering_.of_all(context.group, length, operation);
  words_.resize(lengths[source.value()]);
  const std::span<const std::uint64_t> mine = words_;
  const std::vector<std::uint64_t> all =
      co_await gathering_.of_all(context.group, mine, operation + 1);
  if (own) co_return;
  std::span<const std::uint64_t> told(all.data() + source.value() * words_.size(), words_.size());
  const std::span<const std::uint64_t> head = told.first(5);
  told = told.subspan(5);
  Progress there{Step(head[0]), Generation(static_cast<std::uint32_t>(head[1])), place_from(told)};
  const bool valid = replica_.valid;
  replica_.restore(there);
  replica_.valid = valid;
  rounds_ = head[2];
  closed_ = head[3];
  resumes_ = head[4] != 0;
}

Task<void> DecentralWorker::hand_over(ViewContext& context, Rank source,
                                      const std::vector<bool>& in_need) {
  if (std::ranges::count(in_need, true) == 0) co_return;
  const std::vector<Range> arrays{replica_.w(), replica_.slots()};
  co_await copy_from(context, source, in_need, arrays);
  if (in_need[context.group.rank.value()])
    node_.env.probe("decentral: a newcomer got the model of another");
}

// ---- Training

std::uint64_t DecentralWorker::epochs_done() const {
  const LedgerPlace place = replica_.ledger.place();
  return place.epoch + (place.done() == replica_.ledger.samples_per_epoch() ? 1 : 0);
}

std::uint64_t DecentralWorker::samples_left() const {
  const LedgerPlace place = replica_.ledger.place();
  // If the ledger's epoch is closed, the next one follows, with its own deal.
  const bool past = place.epoch < closed_;
  const std::uint64_t all = replica_.ledger.samples_per_epoch();
  const std::uint64_t epoch = place.epoch + (past ? 1 : 0);
  const bool last = epoch + 1 == terms_.length.epochs && terms_.length.last_epoch > 0;
  const std::uint64_t wanted = last ? std::min(terms_.length.last_epoch, all) : all;
  const std::uint64_t done = past ? 0 : place.done();
  return wanted > done ? wanted - done : 0;
}

Task<void> DecentralWorker::train(ViewContext& context) {
  context.next_round();
  TrainingRound& round =
      past_.emplace_back(context, learner_, replica_, terms_, samples_left(), journal_);
  const Context task_context = co_await current();
  TaskGroup tasks(task_context);
  round.serve_in(tasks);
  std::exception_ptr error;
  try {
    co_await way_->run(round);
    finished_ = round.finished();
    // Other members may still be dealt samples.
    co_await context.with_others(end_round(context));
  } catch (...) {
    error = std::current_exception();
    if (finished_.empty()) finished_ = round.finished();
  }
  tasks.cancel();
  co_await tasks.join();
  if (error) std::rethrow_exception(error);
}

// All finished shares of the round have ended; the others can be dealt again.
Task<void> DecentralWorker::end_round(ViewContext& context) {
  const std::uint64_t operation = context.operations(2);
  const std::uint64_t own = finished_.size();
  const std::vector<std::uint64_t> counts =
      co_await gathering_.of_all(context.group, own, operation);
  const std::uint64_t most = *std::ranges::max_element(counts);
  std::vector<Share> told = finished_;
  told.resize(most);
  std::vector<Share> all;
  if (most > 0) {
    const std::span<const Share> mine = told;
    all = co_await gathering_.of_all(context.group, mine, operation + 1);
  }
  replica_.ledger.revoke_all();
  std::uint64_t samples = 0;
  for (std::size_t r = 0; r < counts.size(); ++r) {
    const Member& member = context.group.view->members[r];
    for (std::size_t i = 0; i < counts[r]; ++i) {
      const Share& share = all[r * most + i];
      replica_.ledger.claim(member.node, member.incarnation, share);
      replica_.ledger.settle(share, SampleEnd::Applied);
      samples += share.n;
    }
  }
  const std::uint64_t row = terms_.task.batch * context.size();
  replica_.step += Step((samples + row - 1) / row);
  if (samples > 0) {
    ++rounds_;
    replica_.kept.clear();  // Members that join later would be too far behind.
  }
  finished_.clear();
}

Task<void> decentral_worker(Node& node, Learner& learner, CheckpointStore& checkpoints,
                            Replica& replica, const TrainingTask& task, const Decentral& recipe,
                            Journal* journal) {
  if (task.batch == 0) throw ConfigError("a batch of 0 samples; take at least 1");
  require_valid(task.rule);
  require_valid(recipe.algorithm, task.workers);
  SHOAL_CHECK_EQ(replica.ledger.samples_per_epoch(), task.samples);
  const std::uint64_t each = task.batch * task.workers;
  const EpochCount length = epochs_of(task, each);
  const Horizon horizon = horizon_of(task.samples, each, length.epochs, length.last_epoch);
  DecentralTerms terms{task, recipe, length, {}, segments_of(learner.layout())};
  terms.eta = [&](Step t) { return eta(task.schedule, task.eta, t, horizon, task.workers); };
  DecentralWorker worker(node, learner, checkpoints, replica, terms, journal);
  co_await worker.run();
}

}  // namespace shoal
