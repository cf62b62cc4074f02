#include "swarm/decentral_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <memory>

#include "decentral/worker.h"
#include "learner/quadratic.h"
#include "swarm/cluster_draw.h"
#include "train/folder_checkpoint_store.h"

namespace shoal {

using namespace std::chrono_literals;

namespace {

struct DecentralJob {
  QuadraticOptions problem;
  TrainingTask task{};
  Decentral recipe{};
  // Of those who saw the end, by the view that they saw it in.
  std::map<Generation, std::vector<std::vector<float>>> results;
  std::uint64_t applied_least = ~std::uint64_t{0};
  std::uint64_t applied_most = 0;
};

std::string judge(const DecentralJob& job) {
  if (job.results.empty()) return "no worker has a result";
  const std::uint64_t all = job.task.samples * job.task.epochs;
  if (job.applied_least != all || job.applied_most != all)
    return fmt::format("{} to {} samples were applied, not {}", job.applied_least, job.applied_most,
                       all);
  const QuadraticLearner learner(job.problem);
  const std::vector<float> zero(job.problem.dimensions.value(), 0.0F);
  for (const auto& [view, results] : job.results)
    for (const std::vector<float>& w : results) {
      if (w != results[0])
        return fmt::format("two workers of view {} have different results", view);
      const double loss = learner.loss(w);
      if (!std::isfinite(loss) || loss > 2 * learner.loss(zero) + 10)
        return fmt::format("the loss is {}, and was {} at the start", loss, learner.loss(zero));
    }
  return {};
}

Task<void> worker_program(Node& node, std::shared_ptr<DecentralJob> job) {
  QuadraticLearner learner(job->problem);
  Replica replica(node.endpoint, learner, Ledger(node.env.seed(), job->task.samples),
                  slots(job->task.rule));
  FolderCheckpointStore checkpoints(node, "checkpoint", learner.layout());
  co_await decentral_worker(node, learner, checkpoints, replica, job->task, job->recipe);
  const std::span<float> w = replica.parameters().data();
  job->results[node.membership.now().generation].emplace_back(w.begin(), w.end());
  const std::uint64_t applied =
      replica.ledger.tally().ended[static_cast<std::size_t>(SampleEnd::Applied)];
  job->applied_least = std::min(job->applied_least, applied);
  job->applied_most = std::max(job->applied_most, applied);
}

// Some algorithm with its defaults.
AlgorithmChoice algorithm_at(std::uint64_t index) {
  std::uint64_t i = 0;
  AlgorithmChoice choice;
  for_each_alternative<AlgorithmChoice>([&](const auto& settings) {
    if (i++ == index) choice = settings;
  });
  return choice;
}

// Every setting is drawn, and those count that the algorithm has. Of topologies those are drawn
// that go with it.
AlgorithmChoice draw_algorithm(Random& random, std::size_t P) {
  AlgorithmChoice choice = algorithm_at(random.below(std::variant_size_v<AlgorithmChoice>));
  std::vector<Setting> settings = settings_of(choice);
  const auto set = [&](std::string_view name, const std::string& value) {
    for (const Setting& setting : settings)
      if (setting.name == name) setting.set(value);
  };
  const auto has = [&](std::string_view name) {
    return std::ranges::find(settings, name, &Setting::name) != settings.end();
  };
  const auto number = [](auto value) { return fmt::format("{}", value); };
  const auto yes = [](bool value) { return std::string(value ? "yes" : "no"); };
  const std::string_view name = name_of(choice);
  const std::uint64_t tau = random.between(1, 6);
  set("local-steps", number(tau));
  if (has("overlap-steps") && random.chance(0.4)) set("overlap-steps", number(random.below(tau)));
  if (has("pace")) set("pace", random.chance(0.3) ? "sync" : "async");
  constexpr std::array kSymmetric = {"chain", "ring", "torus", "tree", "complete", "hypercube"};
  std::string topology = kSymmetric[random.below(kSymmetric.size())];
  if (name == "gossip" && random.chance(0.4)) topology = "random";
  set("alpha", random.chance(0.5) ? "auto" : number(0.5 / static_cast<double>(P)));
  set("block-momentum", number(0.5 * random.uniform()));
  set("block-nesterov", yes(random.chance(0.5)));
  set("gossip", number(random.uniform()));
  if (name == "stream") topology = random.chance(0.5) ? "complete" : "random";
  if (name == "scatter" && random.chance(0.6)) topology = "halton";
  set("topology", topology);
  set("adapt-alpha", yes(random.chance(0.3)));
  set("local-steps-down", number(random.below(5)));
  set("learners", number(random.below(4)));
  set("penalty", number(0.1 * random.uniform()));
  set("extrapolate", number(0.3 * random.uniform()));
  set("partitions", number(random.below(6)));
  set("drop-probability", number(random.chance(0.5) ? 0 : 0.2 * random.uniform()));
  return choice;
}

// Draws the encoding of models, or of gradients, for algorithms that can encode.
void draw_encoding(Random& random, DecentralJob& job) {
  const AlgorithmChoice& choice = job.recipe.algorithm;
  const auto* const mixing = std::get_if<NeighboursSettings>(&choice);
  const bool changes =
      mixing != nullptr && std::holds_alternative<topology::Hypercube>(mixing->topology);
  if (!takes_encodings(choice) || changes || random.chance(0.5)) return;
  std::vector<std::string> some = swarm_encodings(&SwarmExample::models);
  if (std::holds_alternative<StreamSettings>(choice))
    std::ranges::copy(swarm_encodings(&SwarmExample::streams), std::back_inserter(some));
  job.recipe.encode.as = parse_encoding(some[random.below(some.size())]);
  job.problem.dimensions = Elements(random.between(64, 160));  // Shorter pieces go as they are.
}

}  // namespace

Scenario decentral_scenario(Seed seed) {
  Random random(seed, Purpose::Recipe);
  auto job = std::make_shared<DecentralJob>();
  const std::size_t P = random.between(1, 7);
  job->problem.seed = seed;
  job->problem.dimensions = Elements(random.between(1, 60));
  job->problem.held_out = random.between(0, 40);
  job->problem.statistics = random.chance(0.3);
  job->task.samples = 2 * random.between(20, 100);
  job->task.epochs = random.between(1, 3);
  job->task.batch = random.between(1, 12);
  job->task.workers = P;
  job->recipe.algorithm = draw_algorithm(random, P);
  const bool plain = std::holds_alternative<HogwildSettings>(job->recipe.algorithm);
  if (random.chance(0.3) && !plain) job->task.rule = default_rule(RuleKind::Momentum);
  // Momentum takes ten times as long steps, and a block momentum on top of it longer ones.
  const double shorter = job->task.rule.kind == RuleKind::Momentum ? 0.1 : 1;
  job->task.eta = shorter * (0.02 + 0.08 * random.uniform());
  job->recipe.exchange = static_cast<Exchange>(random.between(1, kExchanges - 1));
  job->task.evaluate = random.chance(0.5);
  // An audited meeting that is late takes passes of its own, apart from the update.
  Random audit(seed, Purpose::Recipe, 2);
  job->task.audit = overlap_steps(job->recipe.algorithm) == 0 || audit.chance(0.5);
  Random encoding(seed, Purpose::Recipe, 1);  // so that all else stays as it was drawn
  draw_encoding(encoding, *job);

  Scenario scenario;
  scenario.cluster = draw_cluster(random, P);
  scenario.faults = draw_faults(random, P, random.duration(200ms, 6s));
  scenario.liveness = 300s;
  scenario.flags = recipe_flags(job->recipe, P, job->task.batch, job->task.rule.kind);
  scenario.recipe = fmt::format("decentral {} epochs={} samples={} N={}", scenario.flags,
                                job->task.epochs, job->task.samples, job->problem.dimensions);
  scenario.program = [job](Node& node) { return worker_program(node, job); };
  scenario.judge = [job] { return judge(*job); };
  return scenario;
}

}  // namespace shoal
