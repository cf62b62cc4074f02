#include "swarm/sync_workload.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "learner/quadratic.h"
#include "swarm/cluster_draw.h"
#include "sync/sync.h"
#include "train/folder_checkpoint_store.h"

namespace shoal {

using namespace std::chrono_literals;

namespace {

struct SyncJob {
  QuadraticOptions problem;
  TrainingTask task{};
  InStep recipe{};
  SyncTuning tuning{};
  std::vector<float> result;  // of the worker that ended last
  std::size_t results = 0;
};

// The oracle: sequential SGD, with momentum, over the same batches; it knows of no worker.
std::vector<float> sequential_sgd(Seed seed, const SyncJob& job) {
  const QuadraticLearner learner(job.problem);
  Ledger ledger(seed, job.task.samples);
  std::vector<float> w(job.problem.dimensions.value(), 0.0F);
  std::vector<float> v(w.size(), 0.0F);
  for (Step t{0}; t < job.task.steps; ++t) {
    const Share share = ledger.deal(NodeId(0), Incarnation(1), job.task.global_batch);
    std::vector<float> g(w.size(), 0.0F);
    learner.add_gradients(w, ledger.samples(share), 0, g);
    for (std::size_t i = 0; i < w.size(); ++i) {
      v[i] = static_cast<float>(job.task.rule.momentum) * v[i] + g[i] / static_cast<float>(share.n);
      w[i] -= static_cast<float>(job.task.eta) * v[i];
    }
    ledger.settle(share, SampleEnd::Applied);
    const auto all = static_cast<double>(job.task.samples);
    if (static_cast<double>(ledger.place().done()) >= job.recipe.epoch_fraction * all)
      ledger.drop_rest();
  }
  return w;
}

void draw_recipe(Random& random, InStep& recipe) {
  recipe.updater = static_cast<Updater>(random.below(3));  // not apart: no replicas
  recipe.exchange = static_cast<Exchange>(random.between(1, kExchanges - 1));
  recipe.order = random.chance(0.8) ? SendOrder::Wfbp : SendOrder::Fifo;
  recipe.accumulate = random.chance(0.2) ? 3 : 1;
  recipe.balance = random.chance(0.3) ? Balance::Auto : Balance::Even;
  if (random.chance(0.2)) recipe.epoch_fraction = 0.75;
  if (random.chance(0.5)) return;
  // Settings that only the sharded update supports.
  recipe.updater = Updater::Owners;
  recipe.accumulate = 1;
  const std::uint64_t policy = random.below(4);
  const auto backups = static_cast<std::uint32_t>(random.between(1, 3));
  if (policy == 1) recipe.stragglers = FirstGradients{backups};
  if (policy == 2) recipe.stragglers = PartialGradients();
  if (policy == 3) recipe.stragglers = RedundantGradients();
  if (policy == 0) recipe.shards = static_cast<std::uint32_t>(random.between(1, 12));
}

// Where all that is asked for is that everyone updates everything, gradients may be encoded: so
// that nothing is lost, so that some of it waits, or so that it is rounded.
void draw_encoding(Random& random, InStep& recipe) {
  if (recipe.updater != Updater::Everyone || random.chance(0.4)) return;
  static const std::vector<std::string> kSome = swarm_encodings(&SwarmExample::sums);
  recipe.encode.as = parse_encoding(kSome[random.below(kSome.size())]);
  recipe.encode.by = static_cast<EncodedForm>(random.below(kEncodedForms));
  const bool lists =
      recipe.encode.by == EncodedForm::Sparse || recipe.encode.by == EncodedForm::Kylix;
  if (lists && !traits(recipe.encode.as).lists) recipe.encode.by = EncodedForm::Gather;
  if (random.chance(0.2)) recipe.encode.after = random.uniform();
}

// In place of all that: what is needed first goes first, in small chunks.
void draw_order(Random& random, InStep& recipe, SyncTuning& tuning) {
  if (random.chance(0.8)) return;
  recipe.updater = Updater::Everyone;
  recipe.stragglers = AllGradients();
  recipe.shards = 0;
  recipe.encode = Encode{};
  recipe.order = SendOrder::Priority;
  recipe.exchange = Exchange::Direct;
  tuning.chunk = Bytes(sizeof(float) * random.between(1, 40));
  if (random.chance(0.7)) {
    recipe.accumulate = 1;
    recipe.balance = Balance::Even;
    recipe.epoch_fraction = 1;
  }
}

bool rounds_numbers(const InStep& recipe) {
  return encodes(recipe.encode) && !traits(recipe.encode.as).exact;
}

// Whether the samples of each step are those that one worker would take.
bool takes_all(const InStep& recipe) {
  return waits_for_all(recipe) || waits_by<RedundantGradients>(recipe);
}

std::string judge(Seed seed, const SyncJob& job) {
  if (job.results == 0) return "no worker has a result";
  if (!takes_all(job.recipe) || rounds_numbers(job.recipe)) {
    const QuadraticLearner learner(job.problem);
    const std::vector<float> zero(job.result.size(), 0.0F);
    const double loss = learner.loss(job.result);
    if (!std::isfinite(loss) || loss > 2 * learner.loss(zero) + 10)
      return fmt::format("the loss is {}, and was {} at the start", loss, learner.loss(zero));
    return {};
  }
  const std::vector<float> oracle = sequential_sgd(seed, job);
  // Every step is one pass more, however often it was tried and by how many.
  const bool one_pass = job.problem.statistics && job.recipe.accumulate == 1;
  if (const float passes = one_pass ? job.result[oracle.size()] : 0;
      one_pass && passes != static_cast<float>(job.task.steps.value()))
    return fmt::format("{} passes are counted in {} steps", passes, job.task.steps);
  for (std::size_t i = 0; i < oracle.size(); ++i) {
    // Only the order of summation differs; the problem does not amplify it.
    const float error = std::abs(job.result[i] - oracle[i]);
    if (!(error <= 1e-5F * (1 + std::abs(oracle[i]))))
      return fmt::format("parameter {} is {}, sequential SGD gives {}", i, job.result[i],
                         oracle[i]);
  }
  return {};
}

Task<void> worker(Node& node, std::shared_ptr<SyncJob> job) {
  QuadraticLearner learner(job->problem);
  Replica replica(node.endpoint, learner, Ledger(node.env.seed(), job->task.samples),
                  slots(job->task.rule));
  FolderCheckpointStore checkpoints(node, "checkpoint", learner.layout());
  co_await sync_worker(node, learner, checkpoints, replica, job->task, job->recipe, nullptr,
                       job->tuning);
  const std::span<float> w = replica.w().data();
  job->result.assign(w.begin(), w.end());
  ++job->results;
}

}  // namespace

Scenario sync_scenario(Seed seed) {
  Random random(seed, Purpose::Recipe);
  auto job = std::make_shared<SyncJob>();
  job->problem.seed = seed;
  job->problem.dimensions = Elements(random.between(1, 100));
  job->problem.buckets = static_cast<std::uint32_t>(random.between(1, 4));
  job->task.steps = Step(random.between(5, 40));
  job->task.global_batch = random.between(1, 24);
  job->task.samples = 2 * random.between(20, 100);
  job->task.eta = 0.05 + 0.4 * random.uniform();
  job->task.save_every = Step(random.chance(0.5) ? random.between(1, 10) : 0);
  job->task.audit = true;
  Random more(seed, Purpose::Recipe, 1);  // apart, so that older seeds keep their clusters
  if (more.chance(0.5)) job->task.rule = default_rule(RuleKind::Momentum);
  job->task.evaluate = more.chance(0.5);
  job->problem.held_out = more.between(0, 50);
  job->problem.statistics = seed.value() % 2 == 0;
  draw_recipe(more, job->recipe);
  Random encodings(seed, Purpose::Recipe, 2);
  draw_encoding(encodings, job->recipe);
  Random orders(seed, Purpose::Recipe, 3);
  draw_order(orders, job->recipe, job->tuning);
  if (job->recipe.order == SendOrder::Priority && orders.chance(0.7))
    job->problem.statistics = false;
  // A bound that none reaches: the result is the same, but norms are measured, and slots copied.
  Random norms(seed, Purpose::Recipe, 4);
  if (norms.chance(0.2) && !encodes(job->recipe)) job->task.rule.clip_norm = 1e9;
  if (more.chance(0.5)) job->tuning.tune_buckets = Bytes(more.between(1, 100));
  // On one host, where all of the state is parameters, they stay with their owners.
  Random holds(seed, Purpose::Recipe, 5);
  if (holds.chance(0.6)) job->tuning.hold_parameters = Bytes(0);
  if (holds.chance(0.4)) job->problem.statistics = false;

  Scenario scenario;
  const std::size_t P = random.between(2, 9);
  scenario.cluster = draw_cluster(random, P);
  // Parts are read in place where all are on one host.
  if (more.chance(0.3))
    for (Placement& p : scenario.cluster.nodes) p.host = HostId(0);
  scenario.faults = draw_faults(random, P, random.duration(200ms, 6s));
  scenario.liveness = 300s;
  scenario.recipe = fmt::format(
      "sync P={} updater={} exchange={} steps={} batch={} samples={} N={} buckets={} "
      "save_every={} shards={} stragglers={} fraction={} accumulate={} encode={} by={} {}{}{}",
      P, static_cast<unsigned>(job->recipe.updater), to_string(job->recipe.exchange),
      job->task.steps, job->task.global_batch, job->task.samples, job->problem.dimensions,
      job->problem.buckets, job->task.save_every, job->recipe.shards,
      job->recipe.stragglers.index(), job->recipe.epoch_fraction, job->recipe.accumulate,
      to_string(job->recipe.encode.as), to_string(job->recipe.encode.by),
      to_string(job->task.rule.kind), job->task.evaluate ? " evaluated" : "",
      job->recipe.order == SendOrder::Priority ? " priority" : "");
  scenario.flags = recipe_flags(
      job->recipe, P, std::max<std::uint64_t>(1, job->task.global_batch / P), job->task.rule.kind);
  scenario.program = [job](Node& node) { return worker(node, job); };
  scenario.judge = [seed, job] { return judge(seed, *job); };
  return scenario;
}

}  // namespace shoal
