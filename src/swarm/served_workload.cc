#include "swarm/served_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "learner/layout.h"
#include "ps/served.h"
#include "ps/shard_map.h"
#include "swarm/cluster_draw.h"
#include "train/folder_checkpoint_store.h"

namespace shoal {

using namespace std::chrono_literals;

namespace {

// The parameters of a shard that samples change: all, or a part, as of embeddings; at least one.
std::uint64_t used(const ShardCut& cut, std::uint64_t part) {
  return (cut.n.value() + part - 1) / part;
}

// Counts: of every shard a sample changes one parameter by one, whichever batch it is in. So the
// parameters say how often each sample is in each shard.
class Tally final : public Learner {
 public:
  Tally(Elements N, std::vector<ShardCut> cuts, std::uint64_t part)
      : layout_(Layout::plain(N)), cuts_(std::move(cuts)), part_(part) {}
  const Layout& layout() const override { return layout_; }
  Substance substance() const override { return Substance::Real; }
  void initialize(Range state) const override { std::ranges::fill(state.data(), 0.0F); }
  Task<void> gradient(Env& env, Range, GradientTarget target, Portion portion,
                      Channel<Ready>& ready, Score& score) override {
    std::vector<float> apart(target.sink == nullptr ? 0 : target.g.data().size());
    const std::span<float> g = target.sink == nullptr ? target.g.data() : std::span(apart);
    co_await env.work(Work::Backward, Elements(portion.samples.size() * g.size()), [&] {
      std::ranges::fill(g, 0.0F);
      for (const ShardCut& cut : cuts_)
        for (const SampleId sample : portion.samples)
          if (cut.n > Elements(0)) g[cut.at.value() + sample % used(cut, part_)] -= 1;
      if (target.sink != nullptr) target.sink->take(Elements(0), g);
    });
    score.samples += portion.samples.size();
    ready.push({0, Elements(0), Elements(g.size())});
    ready.close();
  }
  Task<Score> evaluate(Env& env, Range, std::uint64_t from, std::uint64_t to) override {
    co_await env.work(Work::Forward, Elements(to - from), [] {});
    Score score;
    score.samples = to - from;
    co_return score;
  }
  std::uint64_t held_out() const override { return 40; }

 private:
  Layout layout_;
  std::vector<ShardCut> cuts_;
  std::uint64_t part_;
};

// Facts about the whole world, which no node knows.
struct ServedJob {
  TrainingTask task{};
  Served recipe{};
  Elements N;
  std::uint64_t part = 1;  // of the parameters are used, one in so many
  std::vector<float> result;
  std::size_t results = 0;
  bool differ = false;                               // the results of two workers
  std::map<std::uint64_t, std::uint64_t> evaluated;  // by epoch: how many samples
  bool reloaded = false;                             // a shard was lost with all that had it
  std::size_t begun = 0;                             // shards, at first
  LedgerTally tally;
};

class Watch final : public Journal {
 public:
  explicit Watch(ServedJob& job) : job_(job) {}
  Task<void> step_done(StepReport) override { co_return; }
  Task<void> evaluated(EvaluationReport report) override {
    job_.evaluated[report.epoch] = report.total.samples;
    co_return;
  }
  void saved(Step) override {}
  Ending leave() override { return Ending::No; }

 private:
  ServedJob& job_;
};

// Of all samples in the same class, how many each shard has, against how many there are. One that
// is missing is in one class of the shard, and was dropped or is in a part of the shards.
//
// What an encoding keeps back is lost with its worker (ps/encoded_push.h), and the samples that it
// is of are partial. Of onebit it has either sign, as a mean is more than some of its elements, and
// a class may have more than there are. But c(v) is no further from v than 0 is; so e is no longer
// than the gradients that it is of are together, nor they than their samples are many. That is how
// far off all classes of a shard may be.
std::string judge(const ServedJob& job) {
  if (job.results == 0) return "no worker has a result";
  if (job.reloaded) return {};
  if (job.differ) return "two workers have different results";
  const auto ended = [&](SampleEnd end) {
    return static_cast<double>(job.tally.ended[static_cast<std::size_t>(end)]);
  };
  const double dropped = ended(SampleEnd::Dropped), partial = ended(SampleEnd::Partial);
  const bool either = traits(job.recipe.encode.as).overshoots;
  const double beyond = 0.01 + (either ? partial : 0);
  const std::vector<ShardCut> cuts = cut_shards(job.N, job.recipe.ps.servers);
  for (std::size_t k = 0; k < cuts.size(); ++k) {
    const std::uint64_t n = used(cuts[k], job.part);
    double missing = 0, squares = 0;
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::uint64_t each = job.task.samples / n + (i < job.task.samples % n ? 1 : 0);
      const auto due = static_cast<double>(each * job.task.epochs);
      const double is = static_cast<double>(job.result[cuts[k].at.value() + i]);
      if (!(is <= due + beyond && is >= -beyond))
        return fmt::format("of shard {} parameter {} has {} samples, not {}", k, i, is, due);
      missing += due - is;
      squares += (due - is) * (due - is);
    }
    if (either && std::sqrt(squares) > beyond)
      return fmt::format("shard {} is off by {} samples; {} are in a part", k, std::sqrt(squares),
                         partial);
    // Each server rejects for itself; the ledger has what the first one did.
    if (!(drops_late(job.recipe.ps.consistency) && k > 0) && missing > dropped + partial + 0.01)
      return fmt::format("in shard {} {} samples are missing; {} were dropped, {} in a part", k,
                         missing, dropped, partial);
  }
  for (const auto& [epoch, samples] : job.evaluated)
    if (samples != 40) return fmt::format("after epoch {} {} of 40 were evaluated", epoch, samples);
  return {};
}

// A shard that was once begun must not begin again, nor be loaded.
class CountingCheckpointStore final : public CheckpointStore {
 public:
  CountingCheckpointStore(FolderCheckpointStore& checkpoints, ServedJob& job)
      : checkpoints_(checkpoints), job_(job) {}
  Task<void> save(Replica& replica) override {
    job_.tally = replica.ledger.tally();
    co_await checkpoints_.save(replica);
  }
  Task<bool> load(Replica& replica) override {
    if (++job_.begun > job_.recipe.ps.servers) job_.reloaded = true;
    const bool loaded = co_await checkpoints_.load(replica);
    co_return loaded;
  }

 private:
  FolderCheckpointStore& checkpoints_;
  ServedJob& job_;
};

Task<void> node_program(Node& node, std::shared_ptr<ServedJob> job) {
  Tally learner(job->N, cut_shards(job->N, job->recipe.ps.servers), job->part);
  Replica replica(node.endpoint, learner, Ledger(node.env.seed(), job->task.samples),
                  slots(job->task.rule));
  FolderCheckpointStore snapshots(node, "checkpoint", learner.layout());
  CountingCheckpointStore checkpoints(snapshots, *job);
  Watch watch(*job);
  co_await served_node(node, learner, checkpoints, replica, job->task, job->recipe, &watch, false);
  if (node.membership.now().find(node.id)->role != Role::Worker) co_return;
  const std::span<float> w = replica.parameters().data();
  job->differ = job->differ || (job->results > 0 && !std::ranges::equal(job->result, w));
  job->result.assign(w.begin(), w.end());
  ++job->results;
}

Consistency draw_consistency(Random& random) {
  const std::uint64_t which = random.below(6);
  const std::uint64_t bound = random.between(which == 1 ? 1 : 0, 4);
  const double change = 1 + 20 * random.uniform();
  const Consistency all[] = {consistency::Synchronous{},  consistency::Softsync(bound),
                             consistency::Bounded(bound), consistency::Value(change),
                             consistency::Reject(bound),  consistency::Async{}};
  return all[which];
}

// How often workers push and read, of what goes with the consistency.
void draw_pace(Random& random, ParameterServerOptions& ps) {
  const Consistency& c = ps.consistency;
  if (random.chance(0.2)) ps.warm_start = random.between(1, 5);
  if (goes_by_steps(c) || limits_change(c) || random.chance(0.4)) return;
  if (staleness_bound(c) && random.chance(0.7)) {
    if (random.chance(0.5)) {
      ps.fetch = fetch::Stale{};
    } else {
      ps.fetch = fetch::Eager{};
    }
    return;
  }
  ps.push_every = static_cast<std::uint32_t>(random.between(1, 4));
  ps.fetch = fetch::Every{static_cast<std::uint32_t>(random.between(1, 4))};
}

// Draws a filter that the consistency allows.
void draw_parts(Random& random, ParameterServerOptions& ps) {
  const Consistency& c = ps.consistency;
  ps.compress = random.chance(0.2);
  if (goes_by_steps(c) || limits_change(c) || drops_late(c)) return;
  ps.barrier = random.chance(0.2);
  if (random.chance(0.5)) return;
  const std::uint64_t which = random.between(1, 3);
  if (which == 1) {
    ps.filter = filter::Significant{3 * random.uniform()};
    return;
  }
  const double rate = std::exp(std::log(1e3) + random.uniform() * std::log(1e3));
  const double burst = 64 + 1000 * random.uniform();
  if (which == 2) {
    ps.filter = filter::Magnitude{rate, burst};
  } else {
    ps.filter = filter::Fifo{rate, burst};
  }
}

// Draws encodings of pushes and parameters under which counts stay exact and nothing waits.
void draw_encodings(Random& random, ServedJob& job) {
  static const std::vector<std::string> kPulls = swarm_encodings(&SwarmExample::pulls);
  if (random.chance(0.3)) job.recipe.ps.pulls = parse_encoding(kPulls[random.below(kPulls.size())]);
  if (in_parts(job.recipe.ps) || random.chance(0.5)) return;
  const bool drops = drops_late(job.recipe.ps.consistency);
  std::vector<std::string> some = swarm_encodings(&SwarmExample::pushes);
  // A push that is dropped would take its residual with it.
  if (drops)
    std::erase_if(some, [](const std::string& text) { return parse_encoding(text).feedback; });
  job.recipe.encode.as = parse_encoding(some[random.below(some.size())]);
  if (random.chance(0.2)) job.recipe.encode.after = 2 * random.uniform();
  job.N = Elements(random.between(64, 400));  // Shorter pieces go as they are.
}

void draw_groups(Random& random, ParameterServerOptions& ps, std::size_t nodes) {
  if (random.chance(0.5) || std::holds_alternative<consistency::Backup>(ps.consistency)) return;
  if (random.chance(0.5)) {
    ps.groups = groups::Host{};
  } else {
    ps.groups = groups::Sized{static_cast<std::uint32_t>(random.between(1, nodes))};
  }
  if (ps.push_every == 1 && ps.fetch == Fetch() && random.chance(0.4))
    ps.write_back = static_cast<std::uint32_t>(random.between(2, 4));
}

// In step also by sums of logical shards, which take whole gradients of single workers.
void draw_rounds(Random& random, ServedJob& job) {
  ParameterServerOptions& ps = job.recipe.ps;
  if (!moves_in_step(ps.consistency) || random.chance(0.5)) return;
  job.recipe.shards = static_cast<std::uint32_t>(random.between(1, 12));
  job.task.global_batch = random.between(1, job.task.batch * job.task.workers);
  job.recipe.encode = Encode();
  job.task.rule.clip_norm = 0;
  ps.pulls = Encoding();
  ps.compress = false;
  ps.groups = Groups();
  ps.write_back = 1;
  ps.warm_start = 0;
}

}  // namespace

Scenario served_scenario(Seed seed) {
  Random random(seed, Purpose::Recipe);
  auto job = std::make_shared<ServedJob>();
  const std::size_t P = random.between(1, 6);
  const std::size_t apart = random.chance(0.6) ? random.between(1, 4) : 0;
  const std::size_t S = apart > 0 ? apart : P;
  job->N = Elements(random.between(1, 100));
  job->task.samples = random.between(20, 150);
  job->task.epochs = random.between(1, 3);
  job->task.batch = random.between(1, 16);
  job->task.workers = P;
  job->recipe.ps.servers = random.between(1, S);
  job->recipe.ps.copies = random.between(1, std::min<std::size_t>(3, S));
  job->recipe.ps.consistency = draw_consistency(random);
  Random last(seed, Purpose::Recipe, 2);
  if (P > 1 && last.chance(0.12))
    job->recipe.ps.consistency = consistency::Backup(last.between(1, P - 1));
  draw_pace(random, job->recipe.ps);
  Random more(seed, Purpose::Recipe, 1);  // so that all else stays as it was drawn
  draw_parts(more, job->recipe.ps);
  if (more.chance(0.3)) job->part = more.between(2, 20);
  Random encoding(seed, Purpose::Recipe, 3);
  draw_encodings(encoding, *job);
  // Norms that never clip anything: servers exchange them all the same.
  if (moves_in_step(job->recipe.ps.consistency) && last.chance(0.4)) job->task.rule.clip_norm = 1e9;
  // So that each gradient counts once.
  const Consistency& c = job->recipe.ps.consistency;
  job->task.eta = static_cast<double>(rate_divisor(c));
  job->task.evaluate = true;

  Scenario scenario;
  scenario.cluster = draw_cluster(random, P + apart);
  for (std::size_t i = 0; i < apart; ++i) scenario.cluster.nodes[i].role = Role::Server;
  scenario.faults = draw_faults(random, P + apart, random.duration(200ms, 6s));
  scenario.liveness = 300s;
  draw_groups(random, job->recipe.ps, P + apart);
  Random shards(seed, Purpose::Recipe, 4);
  draw_rounds(shards, *job);
  const ParameterServerOptions& ps = job->recipe.ps;
  scenario.recipe = fmt::format(
      "served P={} S={} {} shards={} copies={} {} push={} fetch={} groups={}/{} warm={} "
      "filter={}{}{}{} encode={}/{} logical={}/{} epochs={} batch={} samples={} N={}/{}",
      P, S, apart > 0 ? "apart" : "inside", job->recipe.ps.servers, ps.copies,
      to_string(ps.consistency), ps.push_every, to_string(ps.fetch), to_string(ps.groups),
      ps.write_back, ps.warm_start, to_string(ps.filter), ps.compress ? " compressed" : "",
      ps.barrier ? " barrier" : "", job->task.rule.clip_norm > 0 ? " norms" : "",
      encode_text(job->recipe.encode), to_string(ps.pulls), job->recipe.shards,
      job->task.global_batch, job->task.epochs, job->task.batch, job->task.samples, job->N,
      job->part);
  Served recipe = job->recipe;
  recipe.ps.servers = 0;  // none apart
  scenario.flags = recipe_flags(recipe, P, job->task.batch, job->task.rule.kind);
  scenario.program = [job](Node& node) { return node_program(node, job); };
  scenario.judge = [job] { return judge(*job); };
  return scenario;
}

}  // namespace shoal
