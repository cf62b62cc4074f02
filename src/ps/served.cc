#include "ps/served.h"

#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "collective/dissemination.h"
#include "collective/group.h"
#include "ps/client.h"
#include "ps/meeting.h"
#include "ps/served_worker.h"
#include "ps/server.h"
#include "ps/shard_directories.h"
#include "replica/segments.h"
#include "runtime/task_group.h"

namespace shoal {
namespace {

constexpr GroupId kEndGroup{4};

// ---- Where shards come from that no server has

class Saved final : public ShardLoader {
 public:
  Saved(Node& node, Learner& learner, CheckpointStore& checkpoints, const ServedOptions& options,
        const Ledger& ledger)
      : node_(node),
        learner_(learner),
        checkpoints_(checkpoints),
        options_(options),
        ledger_(ledger) {}

  Task<void> load(ShardState& shard) override {
    Replica whole(node_.endpoint, learner_, ledger_, slots(options_.rule));
    const bool saved = co_await checkpoints_.load(whole);
    if (!saved) learner_.initialize(whole.w());
    node_.env.probe(saved ? "ps: a shard was loaded as it was saved" : "ps: a shard was begun");
    const ShardCut& cut = shard.cut();
    std::vector<float> own;
    for (unsigned s = 0; s < slots(options_.rule); ++s) {
      const std::span<float> there = whole.slots().slice(whole.N * s + cut.at, cut.n).data();
      own.insert(own.end(), there.begin(), there.end());
    }
    SampleScheduler* const scheduler = shard.scheduler();
    ShardState::Image image{whole.w().slice(cut.at, cut.n).data(), own};
    if (scheduler != nullptr) image.buffers = whole.buffers().data();
    shard.load(image, saved ? whole.step.value() : 0);
    if (scheduler != nullptr && saved) scheduler->restore(whole.ledger.place());
  }

 private:
  Node& node_;
  Learner& learner_;
  CheckpointStore& checkpoints_;
  const ServedOptions& options_;
  const Ledger& ledger_;
};

// ---- The node

Task<bool> all_are_here(const Group& group) {
  co_await barrier(group, 0);
  co_return true;
}

// Not of views after the end of all work: who is missing there has left, and was not lost.
Task<void> tell_views(Node& node, Journal& journal, const bool& ended) {
  Generation last{};
  while (!ended) {
    const ViewPtr view = co_await node.membership.after(last);
    last = view->generation;
    if (!ended) journal.view_begun(*view);
  }
}

Task<void> work_then_end(Node& node, ServedWorker* worker, TaskGroup& tasks, bool& ended) {
  if (worker != nullptr) co_await worker->run();
  ended = worker != nullptr;  // A server never speaks for others.
  // All have come to the end when all of a view have. Servers are there from the start.
  const Meet meet = all_are_here;
  co_await meet_in_views(node, kEndGroup, meet);
  tasks.cancel();
}

Eta eta_of(const ServedOptions& options, std::uint64_t samples) {
  const Consistency& c = options.ps.consistency;
  const std::uint64_t each =
      options.logical > 0
          ? options.round_batch
          : samples_per_update(options.ps, options.batch, options.workers, options.hosts);
  const double height = options.eta / static_cast<double>(rate_divisor(c));
  const Horizon horizon = horizon_of(samples, each, options.epochs, options.last_epoch);
  return [=](std::uint64_t version) {
    return eta(options.schedule, height, Step(version), horizon, options.workers);
  };
}

// What a recipe cannot know: its own part is in compatibility.cc.
void require_rounds(const ServedOptions& options, const Learner& learner) {
  if (rounds(options.rule) > 0)
    throw ConfigError(fmt::format(
        "--shards {} with --update servers and --optimizer {}{}: norms are summed over servers, in "
        "an order that depends on their number; take --update owners, or sgd, momentum or adam "
        "without --clip-norm",
        options.logical, name_of(options.rule),
        options.rule.clip_norm > 0 ? fmt::format(" --clip-norm {}", options.rule.clip_norm) : ""));
  const Layout& layout = learner.layout();
  if (layout.all() > layout.parameters())
    throw ConfigError(fmt::format(
        "--shards {} with --update servers: this model has running statistics, which are a "
        "worker's own with servers; take --update owners",
        options.logical));
  SHOAL_CHECK(moves_in_step(options.ps.consistency) && options.round_batch > 0);
}

}  // namespace

Rule rule_at_servers(const Rule& rule, const ParameterServerOptions& ps, std::uint64_t workers) {
  if (rounds(rule) > 0 && !moves_in_step(ps.consistency))
    throw ConfigError(fmt::format(
        "--optimizer {}{} with --consistency {}: servers that are not synchronous make different "
        "updates, which have no common norm; take --consistency synchronous, or sgd, momentum or "
        "adam without --clip-norm",
        name_of(rule), rule.clip_norm > 0 ? fmt::format(" --clip-norm {}", rule.clip_norm) : "",
        to_string(ps.consistency)));
  if (limits_change(ps.consistency) && (rule.kind != RuleKind::Sgd || rule.own != nullptr))
    throw ConfigError(
        fmt::format("--consistency {} with --optimizer {}: only for sgd the change of a parameter "
                    "by a push is known before the update; take --optimizer sgd",
                    to_string(ps.consistency), name_of(rule)));
  if (ps.lower_momentum && rule.kind != RuleKind::Momentum)
    throw ConfigError(fmt::format("--lower-momentum with --optimizer {}: take --optimizer momentum",
                                  name_of(rule)));
  Rule at_servers = rule;
  if (ps.lower_momentum) at_servers.momentum -= 1 - 1 / static_cast<double>(workers);
  return at_servers;
}

Task<void> served_node(Node& node, Learner& learner, CheckpointStore& checkpoints, Replica& replica,
                       ServedOptions options, Journal* journal) {
  if (options.batch == 0) throw ConfigError("a batch of 0 samples; take at least 1");
  require_valid(options.rule);
  if (options.logical > 0) require_rounds(options, learner);
  const std::vector<ShardCut> cuts = cut_shards(replica.N, options.shards);
  const std::vector<Segment> segments = segments_of(learner.layout());
  const Eta eta_at = eta_of(options, replica.ledger.samples_per_epoch());
  UpdatePlan plan;
  const std::uint64_t groups = count_groups(options.ps.groups, options.workers, options.hosts);
  plan.rule = rule_at_servers(options.rule, options.ps, groups);
  plan.mean = options.mean;
  plan.segments = segments;
  plan.eta = eta_at;
  plan.shards = options.logical;
  const Elements buffers =
      learner.substance() == Substance::Real ? replica.buffers().n : Elements(0);
  Course course{options.epochs, options.last_epoch, 0, buffers > Elements(0)};
  if (options.evaluate && learner.held_out() > 0) course.blocks = kBlocks;
  const SampleScheduler scheduler(replica.ledger, course);
  ShardDirectories directories(node, cuts.size(), options.ps.copies);
  std::shared_ptr<MessageForm> form;
  if (encodes(options.encode)) {
    form = std::make_shared<MessageForm>(learner.pieces(), Encoding());
    form->choose(encodings_of(options.encode, learner));
  }
  Saved origin(node, learner, checkpoints, options, replica.ledger);
  Server server(node, directories, cuts, learner.substance(), plan, scheduler, origin,
                {options.ps, buffers, form});
  directories.holdings = [&] { return server.holdings(); };
  const ViewPtr view = co_await node.membership.after(Generation(0));
  const Member* const self = view->find(node.id);
  ServedWorker worker(node, learner, checkpoints, replica, options, directories, cuts, eta_at,
                      journal);
  ServedWorker* const works = self->role == Role::Worker ? &worker : nullptr;
  bool ended = false;
  std::exception_ptr error;
  try {
    co_await with_group([&](TaskGroup& tasks) -> Task<> {
      tasks.spawn(directories.follow());
      tasks.spawn(server.run());
      if (works != nullptr && are_formed(options.ps.groups)) tasks.spawn(works->serve_group());
      if (journal != nullptr) tasks.spawn(tell_views(node, *journal, ended));
      tasks.spawn(work_then_end(node, works, tasks, ended));
      co_return;
    });
  } catch (...) {
    error = std::current_exception();
  }
  // Whatever the end: what is here may go only when the network has let go of it. A newcomer that
  // has come to the end of a job waits for its view, which goes on without this node.
  if (error) {
    node.membership.fail(error);
  } else {
    node.membership.leave();
  }
  for (const GroupId group : {kServing, ShardDirectories::kGroup, kEndGroup})
    co_await node.endpoint.retire(group, kForGood);
  if (error) std::rethrow_exception(error);
}

}  // namespace shoal
