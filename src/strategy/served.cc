#include "strategy/served.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.h"
#include "collective/dissemination.h"
#include "collective/group.h"
#include "ps/client.h"
#include "ps/directory.h"
#include "ps/meeting.h"
#include "ps/server.h"
#include "runtime/task_group.h"
#include "strategy/segments.h"

namespace shoal {
namespace {

constexpr GroupId kGroup{4};
constexpr std::uint32_t kBlocks = 32;  // of what is held out

// ---- The worker

class Worker {
 public:
  Worker(Node& node, Learner& learner, Keeper& keeper, Replica& replica,
         const ServedOptions& options, Directories& directories, const std::vector<ShardCut>& cuts,
         Journal* journal)
      : node_(node),
        learner_(learner),
        keeper_(keeper),
        replica_(replica),
        options_(options),
        client_(node, directories, Role::Worker),
        cuts_(cuts),
        journal_(journal),
        versions_(cuts.size(), 0) {}

  Task<void> run();

 private:
  Task<void> come_in();
  Task<void> compute();
  Task<void> exchange();
  struct Visit {
    bool pushes = false, reads = false, leaves = false;
  };
  Task<void> at_all_shards(Visit visit);
  Task<void> at_shard(std::uint32_t shard, Visit visit);
  Task<void> end_epoch();
  Task<void> snapshot();
  Task<void> save(const Answer& errand);
  Task<Score> evaluate(std::uint32_t block);
  void take(const Answer& answer);
  Range of(const Range& all, std::uint32_t shard) const {
    return all.slice(cuts_[shard].at, cuts_[shard].n);
  }

  Node& node_;
  Learner& learner_;
  Keeper& keeper_;
  Replica& replica_;
  const ServedOptions& options_;
  Client client_;
  const std::vector<ShardCut>& cuts_;
  Journal* journal_;
  std::vector<std::uint64_t> versions_;  // of each shard's parameters, as last read
  std::uint64_t clock_ = 0;
  std::uint64_t epoch_ = 0;
  std::uint64_t settled_ = 0;  // shares of this life that all shards have
  Share share_;
  bool over_ = false;  // the epoch is
  bool end_ = false;
  StepReport report_;
};

Task<void> Worker::run() {
  while (!end_) {
    co_await come_in();
    while (!over_ && share_.n > 0) {
      co_await compute();
      co_await exchange();
    }
    // All samples of the epoch are out: nobody shall wait for this worker meanwhile.
    const Visit leaves{.leaves = true};
    co_await at_all_shards(leaves);
    if (over_) co_await end_epoch();
  }
}

void Worker::take(const Answer& answer) {
  over_ = answer.kind == Answer::Kind::Over;
  share_ = answer.share;
  epoch_ = answer.epoch;
}

// The dealer gives a clock and a share as soon as there is one; with that clock it comes in at the
// others.
Task<void> Worker::come_in() {
  Ask ask;
  ask.enters = 1;
  ask.clock = ask.share = clock_;
  ask.wants_share = options_.batch;
  ask.settled = settled_;
  ask.may_wait = 1;
  const Answer answer = co_await client_.train(ask);
  take(answer);
  if (over_) co_return;
  clock_ = settled_ = answer.clock;
  const Visit reads{.reads = true};
  co_await at_all_shards(reads);
}

Task<void> Worker::compute() {
  report_ = StepReport();
  report_.step = Step(clock_);
  report_.epoch = share_.epoch;
  report_.samples = share_.n;
  const Time begin = node_.env.now();
  Channel<Ready> unheard;
  Portion portion{share_.epoch, Step(clock_), node_.id.value(), replica_.ledger.samples(share_)};
  const GradientTarget target{replica_.g().all()};
  co_await learner_.gradient(node_.env, replica_.w(), target, std::move(portion), unheard,
                             report_.own);
  report_.compute = node_.env.now() - begin;
}

Task<void> Worker::exchange() {
  const Time begin = node_.env.now();
  // Where pushes may have to wait a worker that reads at one server while it waits at another would
  // hold up those who wait for it to see what they changed.
  const bool in_one = options_.consistency.kind != Consistency::Kind::Value;
  const Visit pushes{.pushes = true, .reads = in_one};
  const Visit reads{.reads = true};
  co_await at_all_shards(pushes);
  ++clock_;
  settled_ = clock_;
  if (!in_one && !over_) co_await at_all_shards(reads);
  report_.wait = node_.env.now() - begin;
  if (journal_ != nullptr) co_await journal_->step_done(report_);
}

Task<void> Worker::at_all_shards(Visit visit) {
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    for (std::uint32_t k = 0; k < cuts_.size(); ++k) tasks.spawn(at_shard(k, visit));
    co_return;
  });
}

Task<void> Worker::at_shard(std::uint32_t shard, Visit visit) {
  Ask ask;
  ask.shard = shard;
  ask.clock = clock_;
  ask.leaves = visit.leaves ? 1 : 0;
  ask.wants_read = visit.reads ? 1 : 0;
  ask.based_on = versions_[shard];
  ask.samples = visit.pushes ? report_.samples : 0;
  if (visit.pushes && shard == 0) {
    ask.wants_share = options_.batch;
    ask.share = clock_ + 1;
    ask.settled = settled_;
  }
  const Answer answer =
      co_await client_.train(ask, of(replica_.g().all(), shard), of(replica_.parameters(), shard));
  if (answer.has_parameters != 0) versions_[shard] = answer.version;
  if (visit.pushes && shard == 0) report_.staleness = static_cast<double>(answer.staleness);
  if (visit.pushes && shard == 0) take(answer);
}

// ---- At an epoch's end: the parameters stand still

Task<void> Worker::end_epoch() {
  const Time begin = node_.env.now();
  const std::uint64_t epoch = epoch_;
  co_await snapshot();
  Ask ask;
  ask.epoch = epoch;
  while (true) {
    const Answer answer = co_await client_.errand(ask);
    const auto errand = static_cast<Dealer::Errand>(answer.errand);
    ask.done = answer.errand;
    ask.block = answer.block;
    if (errand == Dealer::Errand::Evaluate) {
      ask.score = co_await evaluate(answer.block);
    } else if (errand == Dealer::Errand::Save) {
      co_await save(answer);
    } else {
      end_ = errand == Dealer::Errand::End;
      over_ = false;
      share_ = Share();
      EvaluationReport report{Step(answer.version), epoch + 1, answer.score, {}};
      report.took = node_.env.now() - begin;
      if (journal_ != nullptr && options_.evaluate) co_await journal_->evaluated(report);
      co_return;
    }
  }
}

Task<void> Worker::snapshot() {
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    const auto one = [this](std::uint32_t k) -> Task<> {
      const Answer answer = co_await client_.snapshot(k, of(replica_.parameters(), k));
      versions_[k] = answer.version;
    };
    for (std::uint32_t k = 0; k < cuts_.size(); ++k) tasks.spawn(one(k));
    co_return;
  });
}

Task<Score> Worker::evaluate(std::uint32_t block) {
  const std::uint64_t n = learner_.held_out();
  const std::uint64_t from = n * block / kBlocks;
  const std::uint64_t to = n * (block + 1) / kBlocks;
  if (from == to) co_return Score();
  co_return co_await learner_.evaluate(node_.env, replica_.w(), from, to);
}

Task<void> Worker::save(const Answer& errand) {
  const unsigned each = slots(options_.rule);
  Arena part(node_.endpoint, cuts_[0].n * each, learner_.substance());
  for (std::uint32_t k = 0; k < cuts_.size() && each > 0; ++k) {
    const ShardCut& cut = cuts_[k];
    const Range here = part.range(Elements(0), cut.n * each);
    co_await client_.snapshot(k, of(replica_.parameters(), k), here);
    co_await node_.env.work(Work::Copy, here.n, [&] {
      for (unsigned s = 0; s < each && !here.data().empty(); ++s)
        std::ranges::copy(here.slice(cut.n * s, cut.n).data(),
                          replica_.slots().slice(replica_.N * s + cut.at, cut.n).data().begin());
    });
  }
  Progress progress{Step(errand.version), replica_.lineage, {}};
  progress.ledger.epoch = errand.epoch + 1;
  progress.ledger.past = errand.ended;
  replica_.restore(progress);
  co_await keeper_.save(replica_);
  if (journal_ != nullptr) journal_->saved(replica_.step);
}

// ---- Where shards come from that no server has

class Saved final : public Origin {
 public:
  Saved(Node& node, Learner& learner, Keeper& keeper, const ServedOptions& options,
        const Ledger& ledger)
      : node_(node), learner_(learner), keeper_(keeper), options_(options), ledger_(ledger) {}

  Task<void> load(ShardState& shard) override {
    Replica whole(node_.endpoint, learner_, ledger_, slots(options_.rule));
    const bool saved = co_await keeper_.load(whole);
    if (!saved) learner_.initialize(whole.w());
    node_.env.probe(saved ? "ps: a shard was loaded as it was saved" : "ps: a shard was begun");
    const ShardCut& cut = shard.cut();
    std::vector<float> own;
    for (unsigned s = 0; s < slots(options_.rule); ++s) {
      const std::span<float> there = whole.slots().slice(whole.N * s + cut.at, cut.n).data();
      own.insert(own.end(), there.begin(), there.end());
    }
    shard.load({whole.w().slice(cut.at, cut.n).data(), own}, saved ? whole.step.value() : 0);
    if (Dealer* const dealer = shard.dealer(); dealer != nullptr && saved)
      dealer->restore(whole.ledger.place());
  }

 private:
  Node& node_;
  Learner& learner_;
  Keeper& keeper_;
  const ServedOptions& options_;
  const Ledger& ledger_;
};

// ---- The node

Task<bool> all_are_here(const Group& group) {
  co_await barrier(group, 0);
  co_return true;
}

Task<void> work_then_end(Node& node, Worker* worker, TaskGroup& tasks) {
  if (worker != nullptr) co_await worker->run();
  // All have come to the end when all of a view have. Servers are there from the start.
  const Meet meet = all_are_here;
  co_await meet_in_views(node, kGroup, meet);
  tasks.cancel();
}

}  // namespace

Task<void> served_node(Node& node, Learner& learner, Keeper& keeper, Replica& replica,
                       ServedOptions options, Journal* journal) {
  if (options.batch == 0) throw ConfigError("a batch of 0 samples; take at least 1");
  require_valid(options.rule);
  if (rounds(options.rule) > 0)
    throw ConfigError("servers cannot take norms over all shards; take another optimizer");
  const std::vector<ShardCut> cuts = cut_shards(replica.N, options.shards);
  const std::vector<Segment> segments = segments_of(learner.layout());
  const std::uint64_t samples = replica.ledger.samples_per_epoch();
  const Step per_epoch((samples + options.batch - 1) / options.batch);
  const Step total(per_epoch.value() * options.epochs);
  UpdatePlan plan;
  plan.rule = options.rule;
  plan.mean = options.mean;
  plan.segments = segments;
  plan.eta = [&](std::uint64_t version) {
    const Step t = std::min(Step(version), total);
    return eta(options.schedule, options.eta, t, per_epoch, total, options.workers);
  };
  const Dealer dealer(replica.ledger, options.epochs,
                      options.evaluate && learner.held_out() > 0 ? kBlocks : 0);
  Directories directories(node, cuts.size(), options.copies);
  Saved origin(node, learner, keeper, options, replica.ledger);
  Server server(node, directories, cuts, learner.substance(), plan, dealer, origin,
                {options.consistency, options.weigh_by_staleness});
  directories.holdings = [&] { return server.holdings(); };
  const ViewPtr view = co_await node.membership.after(Generation(0));
  const Member* const self = view->find(node.id);
  Worker worker(node, learner, keeper, replica, options, directories, cuts, journal);
  Worker* const works = self->role == Role::Worker ? &worker : nullptr;
  std::exception_ptr error;
  try {
    co_await with_group([&](TaskGroup& tasks) -> Task<> {
      tasks.spawn(directories.follow());
      tasks.spawn(server.run());
      tasks.spawn(work_then_end(node, works, tasks));
      co_return;
    });
  } catch (...) {
    error = std::current_exception();
  }
  // Whatever the end: what is here may go only when the network has let go of it. A newcomer that
  // has come to the end of a job waits for its view, which goes on without this node.
  if (!error) node.membership.leave();
  for (const GroupId group : {kServing, Directories::kGroup, kGroup})
    co_await node.endpoint.retire(group, kForGood);
  if (error) std::rethrow_exception(error);
}

}  // namespace shoal
