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
  DecentralOptions options;
  std::uint64_t samples = 0;
  // Of those who saw the end, by the view that they saw it in.
  std::map<Generation, std::vector<std::vector<float>>> results;
  std::uint64_t applied_least = ~std::uint64_t{0};
  std::uint64_t applied_most = 0;
};

std::string judge(const DecentralJob& job) {
  if (job.results.empty()) return "no worker has a result";
  const std::uint64_t all = job.samples * job.options.epochs;
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
  Replica replica(node.endpoint, learner, Ledger(node.env.seed(), job->samples),
                  slots(job->options.rule));
  FolderCheckpointStore checkpoints(node, "checkpoint", learner.layout());
  co_await decentral_worker(node, learner, checkpoints, replica, job->options);
  const std::span<float> w = replica.parameters().data();
  job->results[node.membership.now().generation].emplace_back(w.begin(), w.end());
  const std::uint64_t applied =
      replica.ledger.tally().ended[static_cast<std::size_t>(SampleEnd::Applied)];
  job->applied_least = std::min(job->applied_least, applied);
  job->applied_most = std::max(job->applied_most, applied);
}

// Of the topologies those that go with the way to meet.
Peering draw_peering(Random& random, std::size_t P) {
  Peering p;
  p.algorithm = static_cast<Algorithm>(random.below(kAlgorithms));
  p.tau = static_cast<std::uint32_t>(random.between(1, 6));
  const bool mean = p.algorithm == Algorithm::Average || p.algorithm == Algorithm::Block ||
                    p.algorithm == Algorithm::Hogwild;
  const bool may_be_late = mean || p.algorithm == Algorithm::Elastic;
  if (may_be_late && random.chance(0.4))
    p.overlap_steps = static_cast<std::uint32_t>(random.below(p.tau));
  p.in_step = mean || p.algorithm == Algorithm::Neighbours || p.algorithm == Algorithm::Learners ||
              random.chance(0.3);
  const Topology symmetric[] = {topology::Chain{}, topology::Ring{},     topology::Torus{},
                                topology::Tree{},  topology::Complete{}, topology::Hypercube{}};
  p.topology = symmetric[random.below(std::size(symmetric))];
  if (p.algorithm == Algorithm::Gossip && random.chance(0.4)) p.topology = topology::Random{};
  p.alpha = random.chance(0.5) ? kAuto : 0.5 / static_cast<double>(P);
  p.block_momentum = 0.5 * random.uniform();
  p.block_nesterov = random.chance(0.5);
  p.gossip = random.uniform();
  if (p.algorithm == Algorithm::Stream)
    p.topology = random.chance(0.5) ? Topology(topology::Complete{}) : topology::Random{};
  if (p.algorithm == Algorithm::Scatter && random.chance(0.6)) p.topology = topology::Halton{};
  p.adapt_alpha = random.chance(0.3);
  p.tau_down = static_cast<std::uint32_t>(random.below(5));
  p.learners = static_cast<std::uint32_t>(random.below(4));
  p.penalty = 0.1 * random.uniform();
  p.extrapolate = 0.3 * random.uniform();
  p.partitions = static_cast<std::uint32_t>(random.below(6));
  p.drop_probability = random.chance(0.5) ? 0 : 0.2 * random.uniform();
  return p;
}

// What is on its way of models that meet in a way that can be encoded, or of gradients.
void draw_encoding(Random& random, DecentralJob& job) {
  const Peering& p = job.options.peering;
  const bool mixes = p.algorithm == Algorithm::Neighbours &&
                     !std::holds_alternative<topology::Hypercube>(p.topology);
  const bool can = mixes || p.algorithm == Algorithm::Average || p.algorithm == Algorithm::Block ||
                   p.algorithm == Algorithm::Stream;
  if (!can || random.chance(0.5)) return;
  std::vector<std::string> some = swarm_encodings(&SwarmExample::models);
  if (p.algorithm == Algorithm::Stream)
    std::ranges::copy(swarm_encodings(&SwarmExample::streams), std::back_inserter(some));
  job.options.encode.as = parse_encoding(some[random.below(some.size())]);
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
  job->samples = 2 * random.between(20, 100);
  job->options.epochs = random.between(1, 3);
  job->options.batch = random.between(1, 12);
  job->options.workers = P;
  job->options.peering = draw_peering(random, P);
  const bool plain = job->options.peering.algorithm == Algorithm::Hogwild;
  if (random.chance(0.3) && !plain) job->options.rule = default_rule(RuleKind::Momentum);
  // Momentum takes ten times as long steps, and a block momentum on top of it longer ones.
  const double shorter = job->options.rule.kind == RuleKind::Momentum ? 0.1 : 1;
  job->options.eta = shorter * (0.02 + 0.08 * random.uniform());
  job->options.exchange = static_cast<Exchange>(random.between(1, kExchanges - 1));
  job->options.evaluate = random.chance(0.5);
  // An audited meeting that is late takes passes of its own, apart from the update.
  Random audit(seed, Purpose::Recipe, 2);
  job->options.audit = job->options.peering.overlap_steps == 0 || audit.chance(0.5);
  Random encoding(seed, Purpose::Recipe, 1);  // so that all else stays as it was drawn
  draw_encoding(encoding, *job);

  Scenario scenario;
  scenario.cluster = draw_cluster(random, P);
  scenario.faults = draw_faults(random, P, random.duration(200ms, 6s));
  scenario.liveness = 300s;
  const Peering& p = job->options.peering;
  scenario.recipe = fmt::format(
      "decentral P={} {} tau={} late={} {} {} {} encode={} epochs={} batch={} samples={} "
      "N={}",
      P, to_string(p.algorithm), p.tau, p.overlap_steps, p.in_step ? "in step" : "own pace",
      to_string(p.topology), to_string(job->options.exchange), encode_text(job->options.encode),
      job->options.epochs, job->options.batch, job->samples, job->problem.dimensions);
  Recipe recipe;
  recipe.updater = Updater::Decentral;
  recipe.peering = p;
  recipe.exchange = job->options.exchange;
  recipe.encode = job->options.encode;
  scenario.flags = recipe_flags(recipe, P, job->options.batch, job->options.rule.kind);
  scenario.program = [job](Node& node) { return worker_program(node, job); };
  scenario.judge = [job] { return judge(*job); };
  return scenario;
}

}  // namespace shoal
