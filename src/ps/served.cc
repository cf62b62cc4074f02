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
  Saved(Node& node, Learner& learner, CheckpointStore& checkpoints, const TrainingTask& task,
        const Ledger& ledger)
      : node_(node), learner_(learner), checkpoints_(checkpoints), task_(task), ledger_(ledger) {}

  Task<void> load(ShardState& shard) override {
    Replica whole(node_.endpoint, learner_, ledger_, slots(task_.rule));
    const bool saved = co_await checkpoints_.load(whole);
    if (!saved) learner_.initialize(whole.w());
    node_.env.probe(saved ? "ps: a shard was loaded as it was saved" : "ps: a shard was begun");
    const ShardCut& cut = shard.cut();
    std::vector<float> own;
    for (unsigned s = 0; s < slots(task_.rule); ++s) {
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
  const TrainingTask& task_;
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

Eta eta_of(const TrainingTask& task, const Served& recipe, const EpochCount& length) {
  const std::uint64_t each = samples_per_update(recipe, task);
  const double height = task.eta / static_cast<double>(rate_divisor(recipe.ps.consistency));
  const Horizon horizon = horizon_of(task.samples, each, length.epochs, length.last_epoch);
  return [&task, height, horizon](std::uint64_t version) {
    return eta(task.schedule, height, Step(version), horizon, task.workers);
  };
}

// What a recipe cannot know: its own part is in compatibility.cc.
void require_rounds(const TrainingTask& task, const Served& recipe, const Learner& learner) {
  if (rounds(task.rule) > 0)
    throw ConfigError(fmt::format(
        "--shards {} with --update servers and --optimizer {}{}: norms are added up server by "
        "server, in an order that depends on how many there are; take --update owners, or sgd, "
        "momentum or adam without --clip-norm",
        recipe.shards, name_of(task.rule),
        task.rule.clip_norm > 0 ? fmt::format(" --clip-norm {}", task.rule.clip_norm) : ""));
  const Layout& layout = learner.layout();
  if (layout.all() > layout.parameters())
    throw ConfigError(fmt::format(
        "--shards {} with --update servers: this model has running statistics, which are a "
        "worker's own with servers; take --update owners",
        recipe.shards));
  SHOAL_CHECK(moves_in_step(recipe.ps.consistency) && task.all_batches() > 0);
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
                       const TrainingTask& task, const Served& recipe, Journal* journal,
                       bool mean) {
  if (task.batch == 0) throw ConfigError("a batch of 0 samples; take at least 1");
  require_valid(task.rule);
  SHOAL_CHECK_EQ(replica.ledger.samples_per_epoch(), task.samples);
  if (recipe.shards > 0) require_rounds(task, recipe, learner);
  const std::vector<ShardCut> cuts = cut_shards(replica.N, servers_of(recipe, task.workers));
  const std::vector<Segment> segments = segments_of(learner.layout());
  const EpochCount length = length_of(recipe, task);
  const Eta eta_at = eta_of(task, recipe, length);
  UpdatePlan plan;
  const std::uint64_t groups = count_groups(recipe.ps.groups, task.workers, task.hosts);
  plan.rule = rule_at_servers(task.rule, recipe.ps, groups);
  plan.mean = mean;
  plan.segments = segments;
  plan.eta = eta_at;
  plan.shards = recipe.shards;
  const Elements buffers =
      learner.substance() == Substance::Real ? replica.buffers().n : Elements(0);
  Course course{length.epochs, length.last_epoch, 0, buffers > Elements(0)};
  if (task.evaluate && learner.held_out() > 0) course.blocks = kBlocks;
  const SampleScheduler scheduler(replica.ledger, course);
  ShardDirectories directories(node, cuts.size(), recipe.ps.copies);
  std::shared_ptr<MessageForm> form;
  if (encodes(recipe.encode)) {
    form = std::make_shared<MessageForm>(learner.pieces(), Encoding());
    form->choose(encodings_of(recipe.encode, learner));
  }
  Saved origin(node, learner, checkpoints, task, replica.ledger);
  Server server(node, directories, cuts, learner.substance(), plan, scheduler, origin,
                {recipe.ps, buffers, form});
  directories.holdings = [&] { return server.holdings(); };
  const ViewPtr view = co_await node.membership.after(Generation(0));
  const Member* const self = view->find(node.id);
  ServedContext context{
      node, learner, replica, task,    recipe,
      mean, cuts,    eta_at,  journal, Client(node, directories, Role::Worker, recipe.ps.pulls)};
  ServedWorker worker(context, checkpoints);
  ServedWorker* const works = self->role == Role::Worker ? &worker : nullptr;
  bool ended = false;
  std::exception_ptr error;
  try {
    co_await with_group([&](TaskGroup& tasks) -> Task<> {
      tasks.spawn(directories.follow());
      tasks.spawn(server.run());
      if (works != nullptr && are_formed(recipe.ps.groups)) tasks.spawn(works->serve_group());
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
