#include "strategy/served.h"

#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <limits>
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

constexpr GroupId kEndGroup{4};
constexpr std::uint32_t kBlocks = 32;  // of what is held out
// Of a worker that has not seen any epoch yet.
constexpr std::uint64_t kNew = std::numeric_limits<std::uint64_t>::max();

using Eta = std::function<double(std::uint64_t version)>;

// ---- The worker

class ServedWorker {
 public:
  ServedWorker(Node& node, Learner& learner, Keeper& keeper, Replica& replica,
               const ServedOptions& options, Directories& directories,
               const std::vector<ShardCut>& cuts, const Eta& eta, Journal* journal)
      : node_(node),
        learner_(learner),
        keeper_(keeper),
        replica_(replica),
        options_(options),
        client_(node, directories, Role::Worker),
        cuts_(cuts),
        eta_(eta),
        journal_(journal),
        versions_(cuts.size(), 0) {}

  Task<void> run();

 private:
  Task<void> come_in();
  Task<void> first_share();
  Task<void> compute();
  Task<void> exchange();
  Task<void> push(std::uint32_t shard, bool reads);
  Task<void> read(std::uint32_t shard);
  Task<void> enter(std::uint32_t shard);
  Task<void> leave(std::uint32_t shard);
  Task<void> at_all_shards(const std::function<Task<void>(std::uint32_t)>& visit);
  Task<void> end_epoch();
  Task<void> snapshot(std::uint32_t shard);
  Task<void> save();
  Task<Score> evaluate(std::uint32_t block);
  void take(const Answer& answer);
  bool leaves() { return journal_ != nullptr && journal_->leave(); }
  Client::Room room(std::uint32_t shard) { return {.w = of(replica_.parameters(), shard)}; }
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
  const Eta& eta_;
  Journal* journal_;
  std::vector<std::uint64_t> versions_;  // of each shard's parameters, as last read
  std::uint64_t clock_ = 0;
  std::uint64_t epoch_ = kNew;  // whose end is next; ends before are past
  std::uint64_t settled_ = 0;   // shares of this life that all shards have
  std::uint64_t ended_ = 0;     // samples of all workers, as last told
  Share share_;
  bool over_ = false;  // the epoch is
  bool end_ = false;
  StepReport report_;
  Answer next_;  // what comes after this step
};

Task<void> ServedWorker::run() {
  while (!end_) {
    co_await come_in();
    while (!over_ && share_.n > 0) {
      co_await compute();
      co_await exchange();
    }
    if (over_) co_await end_epoch();
  }
}

// With the clock that the first shard gives as soon as there are samples it comes in at the others;
// then it is everywhere, and asks for a share. Where there is none any more nobody shall wait for
// it.
Task<void> ServedWorker::come_in() {
  Ask ask;
  ask.epoch = epoch_;
  ask.stops = leaves() ? 1 : 0;
  Client::Room here;
  here.rest = replica_.rest();
  const Answer answer = co_await client_.enter(ask, here);
  take(answer);
  if (over_) co_return;
  clock_ = settled_ = answer.clock;
  ended_ = answer.ended;
  const auto enters = [this](std::uint32_t k) { return enter(k); };
  co_await at_all_shards(enters);
  co_await first_share();
  const auto reads = [this](std::uint32_t k) { return read(k); };
  if (share_.n > 0) co_await at_all_shards(reads);
  const auto leaves = [this](std::uint32_t k) { return leave(k); };
  if (share_.n == 0) co_await at_all_shards(leaves);
}

Task<void> ServedWorker::enter(std::uint32_t shard) {
  if (shard == 0) co_return;
  Ask ask;
  ask.shard = shard;
  ask.clock = clock_;
  const Client::Room nothing;
  co_await client_.enter(ask, nothing);
}

Task<void> ServedWorker::leave(std::uint32_t shard) { co_await client_.leave(shard, settled_); }

Task<void> ServedWorker::first_share() {
  Ask ask;
  ask.clock = ask.share = clock_;
  ask.settled = settled_;
  ask.wants_share = options_.batch;
  ask.stops = leaves() ? 1 : 0;
  const Range no_gradient;
  const Client::Room nothing;
  const Answer answer = co_await client_.train(ask, no_gradient, nothing);
  take(answer);
}

void ServedWorker::take(const Answer& answer) {
  over_ = answer.kind == Answer::Kind::Over;
  share_ = answer.share;
  epoch_ = answer.epoch;
}

Task<void> ServedWorker::compute() {
  report_ = StepReport();
  report_.step = Step(versions_[0]);
  report_.epoch = share_.epoch;
  report_.eta = eta_(versions_[0]);
  const Time begin = node_.env.now();
  Channel<Ready> unheard;
  Portion portion{share_.epoch, Step(clock_), node_.id.value(), replica_.ledger.samples(share_)};
  const GradientTarget target{replica_.g().all()};
  co_await learner_.gradient(node_.env, replica_.w(), target, std::move(portion), unheard,
                             report_.own);
  report_.compute = node_.env.now() - begin;
}

Task<void> ServedWorker::exchange() {
  const Time begin = node_.env.now();
  // Where pushes may have to wait a worker that reads at one server while it waits at another would
  // hold up those who wait for it to see what they changed.
  const bool in_one = options_.consistency.kind != Consistency::Kind::Value;
  const auto pushes = [&](std::uint32_t k) { return push(k, in_one); };
  const auto reads = [this](std::uint32_t k) { return read(k); };
  const auto leaves = [this](std::uint32_t k) { return leave(k); };
  co_await at_all_shards(pushes);
  ++clock_;
  settled_ = clock_;
  take(next_);
  if (!in_one && share_.n > 0) co_await at_all_shards(reads);
  report_.wait = node_.env.now() - begin;
  if (journal_ != nullptr) co_await journal_->step_done(report_);
  // All samples of the epoch are out: nobody shall wait for this worker meanwhile.
  if (share_.n == 0) co_await at_all_shards(leaves);
}

Task<void> ServedWorker::push(std::uint32_t shard, bool reads) {
  Ask ask;
  ask.shard = shard;
  ask.clock = clock_;
  ask.wants_read = reads ? 1 : 0;
  ask.based_on = versions_[shard];
  ask.samples = share_.n;
  if (shard == 0) {
    ask.wants_share = options_.batch;
    ask.share = clock_ + 1;
    ask.settled = settled_;
    ask.stops = leaves() ? 1 : 0;
  }
  const Answer answer = co_await client_.train(ask, of(replica_.g().all(), shard), room(shard));
  if (answer.has_parameters != 0) versions_[shard] = answer.version;
  if (shard != 0) co_return;
  report_.staleness = static_cast<double>(answer.staleness);
  report_.samples = answer.ended - std::min(ended_, answer.ended);
  ended_ = answer.ended;
  next_ = answer;
}

Task<void> ServedWorker::read(std::uint32_t shard) {
  Ask ask;
  ask.shard = shard;
  ask.clock = clock_;
  ask.wants_read = 1;
  const Range no_gradient;
  const Answer answer = co_await client_.train(ask, no_gradient, room(shard));
  versions_[shard] = answer.version;
}

Task<void> ServedWorker::at_all_shards(const std::function<Task<void>(std::uint32_t)>& visit) {
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    for (std::uint32_t k = 0; k < cuts_.size(); ++k) tasks.spawn(visit(k));
    co_return;
  });
}

// ---- At an epoch's end: the parameters stand still

Task<void> ServedWorker::end_epoch() {
  const Time begin = node_.env.now();
  const auto reads = [this](std::uint32_t k) { return snapshot(k); };
  co_await at_all_shards(reads);
  Ask ask;
  ask.epoch = epoch_;
  Client::Room here;
  here.rest = replica_.rest();
  std::vector<std::uint64_t> words;
  here.news = &words;
  while (true) {
    const Answer answer = co_await client_.errand(ask, replica_.rest(), here);
    const auto errand = static_cast<Dealer::Errand>(answer.errand);
    ask.done = answer.errand;
    ask.block = answer.block;
    ask.brings_rest = errand == Dealer::Errand::Rest ? 1 : 0;
    if (errand == Dealer::Errand::Rest) continue;
    if (errand == Dealer::Errand::Evaluate) {
      ask.score = co_await evaluate(answer.block);
      continue;
    }
    const EpochNews news = news_from(words);
    replica_.restore({Step(answer.version), replica_.lineage, news.place});
    if (errand == Dealer::Errand::Save) {
      co_await save();
      continue;
    }
    end_ = errand == Dealer::Errand::End;
    over_ = false;
    share_ = Share();
    // Of an epoch that others have ended without this worker only the last one's score is known.
    const bool known = answer.epoch == epoch_ + 1;
    EvaluationReport report{Step(answer.version), epoch_ + 1, answer.score, {}};
    report.took = node_.env.now() - begin;
    epoch_ = answer.epoch;
    if (journal_ == nullptr) co_return;
    journal_->measured(news.staleness);
    if (options_.evaluate && known && report.total.samples > 0)
      co_await journal_->evaluated(report);
    co_return;
  }
}

Task<void> ServedWorker::snapshot(std::uint32_t shard) {
  const Answer answer = co_await client_.snapshot(shard, room(shard));
  versions_[shard] = answer.version;
}

Task<Score> ServedWorker::evaluate(std::uint32_t block) {
  const std::uint64_t n = learner_.held_out();
  const std::uint64_t from = n * block / kBlocks;
  const std::uint64_t to = n * (block + 1) / kBlocks;
  if (from == to) co_return Score();
  co_return co_await learner_.evaluate(node_.env, replica_.w(), from, to);
}

Task<void> ServedWorker::save() {
  const unsigned each = slots(options_.rule);
  Arena part(node_.endpoint, cuts_[0].n * each, learner_.substance());
  for (std::uint32_t k = 0; k < cuts_.size() && each > 0; ++k) {
    const ShardCut& cut = cuts_[k];
    Client::Room here = room(k);
    here.slots = part.range(Elements(0), cut.n * each);
    co_await client_.snapshot(k, here);
    co_await node_.env.work(Work::Copy, here.slots.n, [&] {
      for (unsigned s = 0; s < each && !here.slots.data().empty(); ++s)
        std::ranges::copy(here.slots.slice(cut.n * s, cut.n).data(),
                          replica_.slots().slice(replica_.N * s + cut.at, cut.n).data().begin());
    });
  }
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
    Dealer* const dealer = shard.dealer();
    ShardState::Image image{whole.w().slice(cut.at, cut.n).data(), own};
    if (dealer != nullptr) image.rest = whole.rest().data();
    shard.load(image, saved ? whole.step.value() : 0);
    if (dealer != nullptr && saved) dealer->restore(whole.ledger.place());
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

Task<void> tell_views(Node& node, Journal& journal) {
  Generation last{};
  while (true) {
    const ViewPtr view = co_await node.membership.after(last);
    last = view->generation;
    journal.view_begun(*view);
  }
}

Task<void> work_then_end(Node& node, ServedWorker* worker, TaskGroup& tasks) {
  if (worker != nullptr) co_await worker->run();
  // All have come to the end when all of a view have. Servers are there from the start.
  const Meet meet = all_are_here;
  co_await meet_in_views(node, kEndGroup, meet);
  tasks.cancel();
}

Eta eta_of(const ServedOptions& options, std::uint64_t samples) {
  const std::uint64_t each =
      options.batch * pushes_per_update(options.consistency, options.workers);
  const Step per_epoch((samples + each - 1) / each);
  const Step total(per_epoch.value() * options.epochs);
  return [=](std::uint64_t version) {
    const Step t = std::min(Step(version), total);
    return eta(options.schedule, options.eta, t, per_epoch, total, options.workers);
  };
}

}  // namespace

void require_servable(const Rule& rule, const Consistency& consistency) {
  if (rounds(rule) > 0)
    throw ConfigError(
        fmt::format("--optimizer {}{} with --update servers: each server knows a part of the "
                    "gradient, and not its norm; take sgd, momentum or adam, or --update owners",
                    to_string(rule.kind), rule.clip_norm > 0 ? " --clip-norm" : ""));
  if (consistency.kind == Consistency::Kind::Value && rule.kind != RuleKind::Sgd)
    throw ConfigError(
        fmt::format("--consistency {} with --optimizer {}: how far a push will move a parameter is "
                    "known beforehand of sgd alone; take --optimizer sgd",
                    to_string(consistency), to_string(rule.kind)));
}

Task<void> served_node(Node& node, Learner& learner, Keeper& keeper, Replica& replica,
                       ServedOptions options, Journal* journal) {
  if (options.batch == 0) throw ConfigError("a batch of 0 samples; take at least 1");
  require_valid(options.rule);
  require_servable(options.rule, options.consistency);
  const std::vector<ShardCut> cuts = cut_shards(replica.N, options.shards);
  const std::vector<Segment> segments = segments_of(learner.layout());
  const Eta eta_at = eta_of(options, replica.ledger.samples_per_epoch());
  UpdatePlan plan;
  plan.rule = options.rule;
  plan.mean = options.mean;
  plan.segments = segments;
  plan.eta = eta_at;
  const Elements rest = learner.substance() == Substance::Real ? replica.rest().n : Elements(0);
  Course course{options.epochs, options.last_epoch, 0, rest > Elements(0)};
  if (options.evaluate && learner.held_out() > 0) course.blocks = kBlocks;
  const Dealer dealer(replica.ledger, course);
  Directories directories(node, cuts.size(), options.copies);
  Saved origin(node, learner, keeper, options, replica.ledger);
  Server server(node, directories, cuts, learner.substance(), plan, dealer, origin,
                {options.consistency, rest, options.weigh_by_staleness});
  directories.holdings = [&] { return server.holdings(); };
  const ViewPtr view = co_await node.membership.after(Generation(0));
  const Member* const self = view->find(node.id);
  ServedWorker worker(node, learner, keeper, replica, options, directories, cuts, eta_at, journal);
  ServedWorker* const works = self->role == Role::Worker ? &worker : nullptr;
  std::exception_ptr error;
  try {
    co_await with_group([&](TaskGroup& tasks) -> Task<> {
      tasks.spawn(directories.follow());
      tasks.spawn(server.run());
      if (journal != nullptr) tasks.spawn(tell_views(node, *journal));
      tasks.spawn(work_then_end(node, works, tasks));
      co_return;
    });
  } catch (...) {
    error = std::current_exception();
  }
  // Whatever the end: what is here may go only when the network has let go of it. A newcomer that
  // has come to the end of a job waits for its view, which goes on without this node.
  if (!error) node.membership.leave();
  for (const GroupId group : {kServing, Directories::kGroup, kEndGroup})
    co_await node.endpoint.retire(group, kForGood);
  if (error) std::rethrow_exception(error);
}

}  // namespace shoal
