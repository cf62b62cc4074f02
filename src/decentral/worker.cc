#include "decentral/worker.h"

#include <algorithm>
#include <deque>
#include <exception>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "collective/dissemination.h"
#include "collective/tree.h"
#include "decentral/rendezvous.h"
#include "ps/dealer.h"
#include "runtime/slices.h"
#include "runtime/task_group.h"
#include "strategy/segments.h"
#include "strategy/shared_evaluation.h"

namespace shoal {
namespace {

constexpr GroupId kDecentral{5};

// What a member says of itself.
struct Standing {
  std::uint64_t lineage = 0;
  std::uint64_t legs = 0;      // whose ends it has seen
  std::uint64_t closed = 0;    // epochs whose results it has seen evaluated and saved
  std::uint64_t meetings = 0;  // of its system
  std::uint64_t valid = 0;     // 0: it is a newcomer
  std::uint64_t formed = 0;    // it has the result of the last epoch
};

class Worker {
 public:
  Worker(Node& node, Learner& learner, Keeper& keeper, Replica& replica,
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
  Task<void> train(Company& company);
  Task<void> end_leg(Company& company);
  Task<void> close_epoch(Company& company);
  Task<void> form_result(Company& company);
  Task<double> consensus_error(Company& company);
  Task<void> evaluate(Company& company);
  Task<void> save();

  std::uint64_t samples_left() const;  // of the epoch at hand
  bool epoch_over() const { return samples_left() == 0; }
  std::uint64_t epochs_done() const;
  bool ends() const { return stops_ || closed_ >= options_.epochs; }

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
  bool stops_ = false;
  bool formed_ = false;          // all have the result of the last epoch
  std::vector<Share> finished_;  // in the leg whose end is next
  // What others may read or write until its generation is retired.
  std::deque<Leg> past_;
  Gathering gathering_;
  std::vector<std::uint64_t> words_;
};

Task<void> Worker::run() {
  std::exception_ptr error;
  try {
    const InView body = [this](ViewPtr view) { return in_view(std::move(view)); };
    co_await in_each_view(node_, kDecentral, last_, body);
  } catch (const Cancelled&) {
    throw;
  } catch (...) {
    error = std::current_exception();
  }
  co_await node_.endpoint.retire(kDecentral, last_);
  if (error) std::rethrow_exception(error);
  replica_.exchange_copies();
}

Task<bool> Worker::in_view(ViewPtr view) {
  past_.clear();
  replica_.ledger.revoke_all();
  const Group group(node_, kDecentral, view);
  if (journal_ != nullptr) journal_->view_begun(*view);
  Company company(node_, group, watch_);
  bool done = false;
  bool over = false;
  std::exception_ptr error;
  try {
    done = co_await watch_.during(view->generation, to_the_end(company));
  } catch (const LegOver&) {
    over = true;
  } catch (...) {
    error = std::current_exception();
  }
  if (over) node_.env.probe("decentral: a leg was cut off by a new view");
  // Before the next one: others wait until what they lent is given back.
  way_->view_over();
  if (error) std::rethrow_exception(error);
  co_return done;
}

Task<bool> Worker::to_the_end(Company& company) {
  co_await company.with_others(level_up(company));
  while (true) {
    stops_ = journal_ != nullptr && journal_->leave();
    if (ends()) break;
    if (!epoch_over()) co_await train(company);
    if (epoch_over()) co_await company.with_others(close_epoch(company));
  }
  // A job that is stopped leaves the model of now; one that was complete before has none here.
  if (stops_ || !formed_) co_await company.with_others(form_result(company));
  if (stops_ && company.group.rank == Rank(0)) co_await save();
  co_await company.with_others(barrier(company.group, company.operations()));
  co_return true;
}

// ---- A view begins

Task<void> Worker::level_up(Company& company) {
  const Standing own{
      replica_.lineage.value(), legs_, closed_, way_->meetings(), replica_.valid ? 1U : 0U,
      formed_ ? 1U : 0U};
  const std::vector<Standing> all =
      co_await gathering_.of_all(company.group, own, company.operations());
  // Whoever has seen the end of a leg knows what all did in it.
  Rank source(0);
  for (std::uint32_t r = 1; r < all.size(); ++r) {
    const auto key = [](const Standing& s) { return std::tuple(s.valid, s.lineage, s.legs); };
    if (key(all[r]) > key(all[source.value()])) source = Rank(r);
  }
  const Standing& first = all[source.value()];
  const bool nobody = first.valid == 0;
  if (nobody && company.group.rank == source) {
    const bool loaded = co_await keeper_.load(replica_);
    if (!loaded) {
      replica_.restore(Progress{});
      learner_.initialize(replica_.w());
      std::ranges::fill(replica_.slots().data(), 0.0F);
    }
    replica_.lineage = company.group.view->generation;
    closed_ = epochs_done();
  }
  Roll roll;
  std::vector<bool> need;
  std::uint64_t closed = nobody ? closed_ : first.closed;
  for (std::uint32_t r = 0; r < all.size(); ++r) {
    const bool has = all[r].valid != 0 && all[r].lineage == first.lineage;
    need.push_back(!has && Rank(r) != source);
    roll.newcomers.push_back(!has);
    roll.meetings.push_back(has ? all[r].meetings : 0);
    if (has) closed = std::min(closed, all[r].closed);
  }
  formed_ = std::ranges::all_of(all, [](const Standing& s) { return s.formed != 0; });
  const bool behind = first.legs > legs_ || need[company.group.rank.value()];
  co_await tell_place(company, source);
  co_await hand_over(company, source, need);
  if (behind) finished_.clear();
  if (!nobody) closed_ = closed;
  co_await way_->begin(company, replica_.w().slice(Elements(0), learner_.layout().averaged()),
                       roll);
  co_await end_leg(company);
}

// Where the source stands: everyone goes on from there.
Task<void> Worker::tell_place(Company& company, Rank source) {
  const std::uint64_t operation = company.operations(2);
  const bool own = company.group.rank == source;
  if (own) {
    words_ = to_words(replica_.ledger.place());
    words_.insert(words_.begin(),
                  {replica_.step.value(), replica_.lineage.value(), legs_, closed_});
  }
  const std::uint64_t length = own ? words_.size() : 0;
  const std::vector<std::uint64_t> lengths =
      co_await gathering_.of_all(company.group, length, operation);
  words_.resize(lengths[source.value()]);
  const std::span<const std::uint64_t> mine = words_;
  const std::vector<std::uint64_t> all =
      co_await gathering_.of_all(company.group, mine, operation + 1);
  if (own) co_return;
  std::span<const std::uint64_t> told(all.data() + source.value() * words_.size(), words_.size());
  const std::span<const std::uint64_t> head = told.first(4);
  told = told.subspan(4);
  Progress there{Step(head[0]), Generation(static_cast<std::uint32_t>(head[1])), place_from(told)};
  const bool valid = replica_.valid;
  replica_.restore(there);
  replica_.valid = valid;
  legs_ = head[2];
  closed_ = head[3];
}

Task<void> Worker::hand_over(Company& company, Rank source, const std::vector<bool>& in_need) {
  if (std::ranges::count(in_need, true) == 0) co_return;
  const std::vector<Range> arrays{replica_.w(), replica_.slots()};
  co_await copy_from(company, source, in_need, arrays);
  if (in_need[company.group.rank.value()]) {
    replica_.valid = true;
    node_.env.probe("decentral: a newcomer got the model of another");
  }
}

// ---- Training

std::uint64_t Worker::epochs_done() const {
  const LedgerPlace place = replica_.ledger.place();
  return place.epoch + (place.done() == replica_.ledger.samples_per_epoch() ? 1 : 0);
}

std::uint64_t Worker::samples_left() const {
  const LedgerPlace place = replica_.ledger.place();
  // Of an epoch that is closed the next one follows, with the next deal.
  const bool past = place.epoch < closed_;
  const std::uint64_t all = replica_.ledger.samples_per_epoch();
  const std::uint64_t epoch = place.epoch + (past ? 1 : 0);
  const bool last = epoch + 1 == options_.epochs && options_.last_epoch > 0;
  const std::uint64_t wanted = last ? std::min(options_.last_epoch, all) : all;
  const std::uint64_t done = past ? 0 : place.done();
  return wanted > done ? wanted - done : 0;
}

Task<void> Worker::train(Company& company) {
  company.next_leg();
  Leg& leg = past_.emplace_back(company, learner_, replica_, terms_, samples_left(), journal_);
  const Context context = co_await current();
  TaskGroup tasks(context);
  leg.serve_in(tasks);
  std::exception_ptr error;
  try {
    co_await way_->run(leg);
    finished_ = leg.finished();
    // Others may still be dealt samples.
    co_await company.with_others(end_leg(company));
  } catch (...) {
    error = std::current_exception();
    if (finished_.empty()) finished_ = leg.finished();
  }
  tasks.cancel();
  co_await tasks.join();
  if (error) std::rethrow_exception(error);
}

// All that was done in the leg has ended; the rest can be dealt again.
Task<void> Worker::end_leg(Company& company) {
  const std::uint64_t operation = company.operations(2);
  const std::uint64_t own = finished_.size();
  const std::vector<std::uint64_t> counts =
      co_await gathering_.of_all(company.group, own, operation);
  const std::uint64_t most = *std::ranges::max_element(counts);
  std::vector<Share> told = finished_;
  told.resize(most);
  std::vector<Share> all;
  if (most > 0) {
    const std::span<const Share> mine = told;
    all = co_await gathering_.of_all(company.group, mine, operation + 1);
  }
  replica_.ledger.revoke_all();
  std::uint64_t samples = 0;
  for (std::size_t r = 0; r < counts.size(); ++r) {
    const Member& member = company.group.view->members[r];
    for (std::size_t i = 0; i < counts[r]; ++i) {
      const Share& share = all[r * most + i];
      replica_.ledger.claim(member.node, member.incarnation, share);
      replica_.ledger.settle(share, SampleEnd::Applied);
      samples += share.n;
    }
  }
  const std::uint64_t row = options_.batch * company.size();
  replica_.step += Step((samples + row - 1) / row);
  if (samples > 0) ++legs_;
  finished_.clear();
}

// ---- An epoch ends

Task<void> Worker::close_epoch(Company& company) {
  co_await form_result(company);
  co_await evaluate(company);
  if (company.group.rank == Rank(0)) co_await save();
  co_await barrier(company.group, company.operations());
  closed_ = replica_.ledger.place().epoch + 1;
}

Task<void> Worker::form_result(Company& company) {
  const Layout& layout = learner_.layout();
  const Range model = replica_.w().slice(Elements(0), layout.averaged());
  const Range out = replica_.next_w();
  co_await way_->result(company, model, out.slice(Elements(0), layout.averaged()));
  co_await copy(node_.env, replica_.next_slots(), replica_.slots());
  const Elements side = layout.all() - layout.averaged();
  const Range there = out.slice(layout.averaged(), side);
  co_await copy(node_.env, there, replica_.w().slice(layout.averaged(), side));
  if (!company.alone() && side > Elements(0))
    co_await tree_broadcast(company.group, Rank(0), there, company.operations());
  formed_ = true;
}

Task<double> Worker::consensus_error(Company& company) {
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
      co_await gathering_.of_all(company.group, sum, company.operations());
  co_return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
}

// The result is the replica's state for as long as it is looked at.
Task<void> Worker::evaluate(Company& company) {
  if (!options_.evaluate) co_return;
  const double consensus = co_await consensus_error(company);
  const std::uint64_t operation = company.operations(2);
  const Time begin = node_.env.now();
  EvaluationReport report;
  report.step = replica_.step;
  report.epoch = replica_.ledger.place().epoch + 1;
  evaluation_.forget();
  replica_.exchange_copies();
  std::exception_ptr error;
  try {
    report.total = co_await evaluation_.run(company.group, operation);
  } catch (...) {
    error = std::current_exception();
  }
  replica_.exchange_copies();
  if (error) std::rethrow_exception(error);
  report.consensus = consensus;
  report.took = node_.env.now() - begin;
  if (journal_ != nullptr) co_await journal_->evaluated(report);
}

Task<void> Worker::save() {
  learner_.pause();
  replica_.exchange_copies();
  std::exception_ptr error;
  try {
    co_await keeper_.save(replica_);
  } catch (...) {
    error = std::current_exception();
  }
  replica_.exchange_copies();
  if (error) std::rethrow_exception(error);
  if (journal_ != nullptr) journal_->saved(replica_.step);
}

}  // namespace

Task<void> decentral_worker(Node& node, Learner& learner, Keeper& keeper, Replica& replica,
                            DecentralOptions options, Journal* journal) {
  if (options.batch == 0) throw ConfigError("a batch of 0 samples; take at least 1");
  require_valid(options.rule);
  require_valid(options.peering, options.workers);
  const std::uint64_t samples = replica.ledger.samples_per_epoch();
  const std::uint64_t row = options.batch * options.workers;
  const Step per_epoch((samples + row - 1) / row);
  const Step total(per_epoch.value() * options.epochs);
  DecentralTerms terms;
  terms.batch = options.batch;
  terms.workers = options.workers;
  terms.peering = options.peering;
  terms.exchange = options.exchange;
  terms.rule = options.rule;
  terms.segments = segments_of(learner.layout());
  terms.eta = [&](Step t) {
    return eta(options.schedule, options.eta, std::min(t, total), per_epoch, total,
               options.workers);
  };
  Worker worker(node, learner, keeper, replica, options, terms, journal);
  co_await worker.run();
}

}  // namespace shoal
