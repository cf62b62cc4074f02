#include "app/simulate_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <ranges>
#include <set>

#include "app/build_info.h"
#include "app/cluster_plan.h"
#include "base/error.h"
#include "base/nearest.h"
#include "launch/ranks.h"
#include "learner/architectures.h"
#include "recipe/registry.h"
#include "runtime/live/mapped_file.h"
#include "sim/words.h"
#include "sync/operations.h"
#include "train/simulation.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kWorkersMax = 10'000;
constexpr const char* kAnew = "measure";

bool is_measured(const std::string& costs) { return costs == "auto" || costs == kAnew; }

// Samples without content.
class UnseenSamples final : public BatchSource {
 public:
  explicit UnseenSamples(std::uint64_t size) : size_(size) {}
  const SampleShape& shape() const override { return shape_; }
  std::uint64_t size() const override { return size_; }
  void fill(std::uint64_t, std::span<const SampleId>, Batch&) const override {
    SHOAL_CHECK(false, "a run that only tells times asked for samples");
  }

 private:
  SampleShape shape_;
  std::uint64_t size_;
};

RankCount count_of(const TrainFlags& flags) {
  return flags.workers == "auto" ? RankCount() : parse_rank_count("--workers", flags.workers);
}

// The servers come after the workers.
ClusterPlan by_flags(const SimulateFlags& how, std::uint64_t workers, std::uint64_t servers) {
  ClusterPlan plan;
  plan.workers = workers;
  Cluster& cluster = plan.cluster;
  const std::uint64_t nodes = workers + servers;
  const std::uint64_t hosts = (nodes + how.hosts_of - 1) / how.hosts_of;
  HostModel host;
  host.cores = static_cast<unsigned>(how.hosts_of);
  host.nic = parse_link("--network", how.network);
  host.memory = parse_link("--memory", how.memory);
  cluster.hosts.assign(hosts, host);
  for (std::uint64_t i = 0; i < nodes; ++i)
    cluster.nodes.push_back(Placement{HostId(static_cast<std::uint32_t>(i / how.hosts_of)),
                                      i < workers ? Role::Worker : Role::Server});
  return plan;
}

ClusterPlan cluster_of(const SimulateFlags& how, const TrainFlags& flags) {
  const std::uint64_t servers = servers_of(recipe_of(flags));
  const std::uint64_t workers = count_of(flags).most;
  if (how.cluster.empty()) return by_flags(how, workers, servers);
  if (how.network != kUsualNetwork || how.memory != kUsualMemory)
    throw ConfigError(
        fmt::format("--cluster {} defines the links: omit --network and --memory", how.cluster));
  const std::vector<std::string> presets = cluster_presets();
  if (std::ranges::find(presets, how.cluster) != presets.end())
    return preset_cluster(how.cluster, workers, servers, how.hosts_of);
  if (!fs::is_regular_file(how.cluster))
    throw ConfigError(fmt::format("--cluster {}: there is no such file, and no such preset. {}",
                                  how.cluster, suggest(how.cluster, presets)));
  if (how.hosts_of != 1)
    throw ConfigError(fmt::format("--hosts-of {}: {} defines the workers of each host; omit it",
                                  how.hosts_of, how.cluster));
  const FileView file = map_file(how.cluster);
  return parse_cluster({reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size()},
                       how.cluster, flags.workers == "auto" ? std::nullopt : std::optional(workers),
                       servers);
}

// Uses measured links unless the flags name others, and measured jitter unless they name
// stragglers.
void use_calibration(const Calibration& c, const SimulateFlags& how, ClusterPlan& plan) {
  for (HostModel& host : plan.cluster.hosts) {
    if (how.cluster.empty() && how.network == kUsualNetwork && c.between) host.nic = *c.between;
    if (how.cluster.empty() && how.memory == kUsualMemory && c.inside) host.memory = *c.inside;
  }
  if (c.jitter > 0 && plan.stragglers == "none")
    plan.stragglers = fmt::format("jitter:{:.3g}", c.jitter);
}

std::uint64_t hosts_with_workers(const Cluster& cluster) {
  std::set<HostId> hosts;
  for (const Placement& node : cluster.nodes)
    if (node.role == Role::Worker) hosts.insert(node.host);
  return hosts.size();
}

void check_how(const SimulateFlags& how, const TrainFlags& flags) {
  if (count_of(flags).most > kWorkersMax)
    throw ConfigError(fmt::format("--workers {}: take 1 to {}", flags.workers, kWorkersMax));
  if (how.hosts_of == 0 || how.hosts_of > kWorkersMax)
    throw ConfigError(fmt::format("--hosts-of {}: take 1 to {}", how.hosts_of, kWorkersMax));
  if (how.parameters > 0 && !how.phantom.empty())
    throw ConfigError("--parameters and --phantom: take one of them");
  if (!how.phantom.empty() && !how.timing_only)
    throw ConfigError("--phantom has sizes and no values: add --timing-only");
  if (!(how.tflops > 0 && how.tflops <= 1e6))
    throw ConfigError(fmt::format("--tflops {}: take a number above 0", how.tflops));
  if (how.parameters > 0 && !how.timing_only)
    throw ConfigError("--parameters stands for a model without values: add --timing-only");
  if (how.parameters > 0 && is_measured(how.ns_per_sample))
    throw ConfigError("--parameters has no model to measure: say --ns-per-sample, as 500000");
  const std::uint64_t buckets = how.parameters / std::max<std::uint64_t>(1, flags.bucket_bytes / 4);
  if (flags.bucket_bytes > 0 && buckets >= kBucketsMax)
    throw ConfigError(fmt::format(
        "--bucket-bytes {}: {} parameters would be more than {} buckets; take at least {}",
        flags.bucket_bytes, how.parameters, kBucketsMax, 4 * how.parameters / kBucketsMax + 4));
  if (!how.calibration.empty() && (how.parameters > 0 || !how.phantom.empty()))
    throw ConfigError("--calibration has its own model: omit --parameters and --phantom");
  const bool given = how.parameters > 0 || !how.phantom.empty() || !how.calibration.empty();
  if (given && (how.ns_per_sample == kAnew || how.ns_per_element == kAnew))
    throw ConfigError(
        "measure, as a cost: --parameters, --phantom and --calibration define the costs; omit it");
  if (how.samples == 0) throw ConfigError("--samples 0: take 1 at least");
  if (!flags.hosts.empty() || !flags.store.empty() || !flags.listen.empty())
    throw ConfigError(
        "--hosts, --store and --listen are for real processes; --network and --hosts-of say what "
        "is simulated");
  if (!flags.resume.empty())
    throw ConfigError("--resume: a simulated run always begins at step 0; omit it");
  if (batch_norm_of(recipe_of(flags)).over == BatchNorm::Over::Workers)
    throw ConfigError(
        fmt::format("--batch-norm sync: a simulated pass cannot wait for other workers in its "
                    "middle; take --batch-norm group:{}",
                    std::max<std::uint64_t>(2, flags.batch)));
}

// The layers of an architecture as backward makes their gradients; a bucket is complete with the
// layer that reaches its size.
std::vector<LayerSize> in_buckets(const std::string& phantom, Bytes size) {
  std::vector<LayerSize> buckets;
  for (const LayerSize& layer : std::views::reverse(architecture(phantom))) {
    const bool full =
        buckets.empty() || buckets.back().parameters.value() * sizeof(float) >= size.value();
    if (full) buckets.push_back({layer.name, Elements(0), 0});
    buckets.back().parameters += layer.parameters;
    buckets.back().flops += layer.flops;
  }
  return buckets;
}

// Backward takes twice as long as forward: gradients of inputs and of weights.
Pace pace_of(const std::vector<LayerSize>& buckets, double tflops) {
  Pace pace;
  for (const LayerSize& bucket : buckets) {
    const double ns = bucket.flops / (1e3 * tflops);
    pace.forward += ns;
    pace.backward.push_back(2 * ns);
  }
  return pace;
}

void set_entry(std::vector<ConfigEntry>& config, const std::string& key, const std::string& value) {
  const auto it = std::ranges::find(config, key, &ConfigEntry::key);
  SHOAL_CHECK(it != config.end(), "there is no option {}", key);
  it->value = value;
}

void write_file(const fs::path& path, std::span<const std::byte> content) {
  std::error_code ignored;  // Whatever it is shows when the file is opened.
  fs::create_directories(path.parent_path(), ignored);
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(content.data()),
             static_cast<std::streamsize>(content.size()));
  if (!file.flush())
    throw DataError(
        fmt::format("cannot write {}; is there space, and may it be written?", path.string()));
}

void print_end(const SimulateRun& run, const SimulationResult& result) {
  const Summary& s = result.train.summary;
  fmt::print("\n{}", epoch_table(result.train.totals.rows));
  fmt::print("\n{} steps in {:.4g} s of virtual time; {:.0f} samples/s", s.steps, s.wall_s,
             s.samples_per_s);
  if (s.test_accuracy == s.test_accuracy)
    fmt::print("; test accuracy {:.2f} %", 100 * s.test_accuracy);
  fmt::print("\na worker computed for {:.4g} s, waited for {:.4g} s and sent {:.4g} MB\n",
             s.compute_s, s.wait_s, s.bytes_sent_per_worker * 1e-6);
  for (std::size_t kind = 0; kind < kFaultKinds; ++kind)
    if (result.outcome.fired[kind] > 0)
      fmt::print("{} x {}\n", result.outcome.fired[kind], to_string(static_cast<FaultKind>(kind)));
  fmt::print("{} messages, trace hash {:016x}\n\nrun folder    {}\n", result.outcome.messages,
             result.outcome.hash, run.flags.out);
}

}  // namespace

std::vector<Option> simulate_options(TrainFlags& flags, SimulateFlags& how) {
  std::vector<Option> options = train_options(flags);
  const std::vector<Option> more = {
      {"--cluster",
       "a file (docs/simulation.md), or 1gbit, 10gbit, 25gbit, 100gbit, infiniband-hdr, cloud, "
       "two-sites",
       &how.cluster},
      {"--network", "rate and latency of the link of each host: 10gbit:20us", &how.network},
      {"--memory", "rate and latency between workers of one host", &how.memory},
      {"--hosts-of", "workers per host; each has a core", &how.hosts_of},
      {"--stragglers",
       "none, or a list: constant:2@1 (worker 1), jitter:0.2, pareto:1.5, "
       "exponential:1",
       &how.stragglers},
      {"--faults",
       "none, seed:7, or a list: crash:2@3s+1s, power-loss, freeze, slow:1@2s+1sx4, partition, "
       "cut:0>2@2s+1s, link-slow",
       &how.faults},
      {"--timing-only", "simulate sizes and times of the model, without its values",
       &how.timing_only},
      {"--parameters", "with --timing-only: the number of parameters, in place of a model and data",
       &how.parameters},
      {"--phantom",
       "with --timing-only, in place of a model and data: alexnet, vgg-a, googlenet, resnet-50, "
       "resnet-152, densenet-121, gpt2-small, at full size",
       &how.phantom},
      {"--tflops", "with --phantom: the TFLOP/s that a worker achieves", &how.tflops},
      {"--samples", "with --parameters and --phantom: the number of samples of the data",
       &how.samples},
      {"--calibration",
       "a file of `shoal calibrate`: the times of that model and machine, and its links unless "
       "others are given",
       &how.calibration},
      {"--ns-per-sample",
       "time of a gradient: in total, or of forward and each bucket; auto: measured once on this "
       "machine and kept; measure: measured anew",
       &how.ns_per_sample},
      {"--ns-per-element",
       "time of other work: reduce=0.5,update=1.2,copy=0.3; auto and measure as with "
       "--ns-per-sample",
       &how.ns_per_element},
  };
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

SimulateRun::SimulateRun(TrainFlags flags_, SimulateFlags how_, std::vector<ConfigEntry> config_,
                         KeptCosts costs_)
    : flags(std::move(flags_)),
      how(std::move(how_)),
      config(std::move(config_)),
      costs(std::move(costs_)) {
  check_flags(flags);
  check_how(how, flags);
  ClusterPlan place = cluster_of(how, flags);
  if (!how.calibration.empty()) {
    calibrated_ = read_calibration(how.calibration);
    if (!how.timing_only && calibrated_->key.model != flags.model)
      throw ConfigError(
          fmt::format("--calibration {} is of {}, and --model is {}; take that model, "
                      "or --timing-only",
                      how.calibration, calibrated_->key.model, flags.model));
    const std::string why = foreign(*calibrated_, this_machine());
    if (!why.empty())
      fmt::print(stderr, "shoal: warning: --calibration {}: {}; that is what is simulated\n",
                 how.calibration, why);
    use_calibration(*calibrated_, how, place);
  }
  cluster = std::move(place.cluster);
  workers_ = place.workers;
  hosts_ = hosts_with_workers(cluster);
  if (flags.workers == "auto" && workers_ > 1) {
    flags.workers = std::to_string(workers_);
    set_entry(config, "workers", flags.workers);
    check_flags(flags);
  }
  const std::size_t nodes = cluster.nodes.size();
  cluster.stragglers =
      parse_stragglers(how.stragglers == "none" ? place.stragglers : how.stragglers, nodes);
  cluster.timing_only = how.timing_only;
  faults = parse_faults(how.faults == "none" ? place.faults : how.faults, nodes);
  if (!is_measured(how.ns_per_element)) elements_ = parse_element_costs(how.ns_per_element);
  if (flags.out.empty()) flags.out = new_run_folder(flags, "sim-").string();
  require_fresh(flags);
  if (!needs_learner()) {
    Dataset unseen;
    unseen.train = std::make_shared<UnseenSamples>(how.samples);
    unseen.name = "no data";
    use(std::move(unseen));
    plan.model = how.phantom.empty() ? fmt::format("{} parameters", how.parameters) : how.phantom;
    if (calibrated_) plan.model = calibrated_->key.model;
    plan.data = fmt::format("{} samples", how.samples);
  }
}

void SimulateRun::use(Dataset data) {
  dataset = std::move(data);
  plan = plan_of(flags, dataset, workers_, hosts_);
  plan.world = "sim";
  plan.evaluate = plan.evaluate && !how.timing_only;
  plan.audit = !how.timing_only;
}

// One thread and nothing probed: the same numbers every time.
TorchCompute SimulateRun::compute() const {
  return {.threads = wish_of(flags).threads.value_or(1),
          .flush_denormals = flags.denormals == "flush",
          .deterministic = true};
}

TorchLearnerOptions SimulateRun::learner_options() const {
  TorchLearnerOptions options;
  options.seed = plan.seed;
  options.bucket_bytes = bucket_bytes_of(flags);
  options.factors = takes_factors(plan.recipe);
  options.channels_last = wish_of(flags).channels_last.value_or(false);
  return options;
}

std::vector<Elements> SimulateRun::buckets() {
  if (needs_learner()) return buckets_of(*learner);
  if (calibrated_) return model_of(*calibrated_, plan.batch, bucket_bytes_of(flags)).buckets;
  std::vector<Elements> all;
  if (!how.phantom.empty()) {
    for (const LayerSize& bucket : in_buckets(how.phantom, bucket_bytes_of(flags)))
      all.push_back(bucket.parameters);
    return all;
  }
  // The model that is not there is one tensor.
  const Bytes bytes = bucket_bytes_of(flags);
  const std::uint64_t each =
      bytes == kEachTensor ? how.parameters : std::max<std::uint64_t>(1, bytes.value() / 4);
  for (std::uint64_t left = how.parameters; left > 0; left -= all.back().value())
    all.emplace_back(std::min(left, each));
  return all;
}

// A gradient's time depends on all of these.
std::string SimulateRun::key_of_gradient(const std::vector<Elements>& buckets) const {
  const MachineId machine = this_machine();
  const TorchCompute how_computed = compute();
  std::string text = fmt::format(
      "gradient; {}; {} cores; shoal {}; {} on {}; batch {}; {} threads, denormals {}, blas {}, "
      "{}; "
      "buckets",
      machine.cpu, machine.cores, machine.version, plan.model, describe(dataset.train->shape()),
      plan.batch, how_computed.threads, how_computed.flush_denormals ? "flushed" : "kept",
      wish_of(flags).blas.value_or("default"),
      learner_options().channels_last ? "channels last" : "contiguous");
  for (const Elements n : buckets) text += fmt::format(" {}", n);
  return text;
}

std::string SimulateRun::key_of_elements() const {
  const MachineId machine = this_machine();
  return fmt::format("elements; {}; {} cores; shoal {}; {}", machine.cpu, machine.cores,
                     machine.version, name_of(plan.rule));
}

void SimulateRun::calibrate(const std::vector<Elements>& buckets) {
  if (how.ns_per_sample == "auto" && !how.phantom.empty()) {
    pace_ = pace_of(in_buckets(how.phantom, bucket_bytes_of(flags)), how.tflops);
  } else if (how.ns_per_sample == "auto" && calibrated_) {
    const CalibratedModel model = model_of(*calibrated_, plan.batch, bucket_bytes_of(flags));
    if (model.buckets != buckets)
      throw DataError(fmt::format("{}: {} has other tensors by now; calibrate anew",
                                  how.calibration, plan.model));
    pace_ = model.pace;
  } else if (is_measured(how.ns_per_sample)) {
    const std::string text = costs.find(key_of_gradient(buckets), how.ns_per_sample == kAnew, [&] {
      return to_text(measure_pace(*learner, plan.batch));
    });
    pace_ = parse_pace(text, buckets);
    measured_ = "of a gradient";
  } else {
    pace_ = parse_pace(how.ns_per_sample, buckets);
  }
  if (how.ns_per_element == "auto" && calibrated_) {
    elements_ = calibrated_->elements;
    set_entry(config, "ns-per-element", to_text(elements_));
  } else if (is_measured(how.ns_per_element)) {
    const std::string text = costs.find(key_of_elements(), how.ns_per_element == kAnew,
                                        [&] { return to_text(measure_elements(plan.rule)); });
    elements_ = parse_element_costs(text);
    measured_ += measured_.empty() ? "of other work" : " and of other work";
    set_entry(config, "ns-per-element", to_text(elements_));
  }
  set_entry(config, "ns-per-sample", to_text(pace_));
  set_costs(cluster, elements_);
}

void SimulateRun::print_head() const {
  fmt::print("model     {}{}\n", plan.model, how.timing_only ? ", timing only" : "");
  fmt::print("data      {}; {} samples to train\n", plan.data, plan.samples);
  fmt::print("recipe    {}\n", plan.system);
  fmt::print("training  {}, eta {} {}, batch {} x {} workers, {}\n", describe(plan.rule), plan.eta,
             describe(plan.schedule), plan.batch, plan.workers, length_text(plan));
  fmt::print("cluster   {}\n", describe(cluster));
  for (const Fault& fault : faults.faults) fmt::print("fault     {}\n", describe(fault));
  fmt::print("costs     {:.0f} ns a sample, {} ns an element{}\n", pace_.total(),
             to_text(elements_),
             measured_.empty() ? "" : fmt::format("; {}: measured here and kept", measured_));
  fmt::print("run       {}\n\n", flags.out);
  std::fflush(stdout);
}

ExitCode SimulateRun::simulate() {
  const std::vector<Elements> sizes = buckets();
  calibrate(sizes);
  plan.config = config;
  plan.folder.host = "sim";
  plan.notes = {{"shoal", describe(build_info())},
                {"cluster", describe(cluster)},
                {"ns_per_sample", to_text(pace_)},
                {"ns_per_element", to_text(elements_)},
                {"optimizer", describe(plan.rule)}};
  if (!flags.quiet) print_head();

  std::unique_ptr<Learner> paced;
  if (how.timing_only) {
    paced = phantom_of(pace_, sizes);
  } else {
    paced = std::make_unique<PacedLearner>(*learner, pace_);
  }
  Simulation simulation;
  simulation.cluster = cluster;
  simulation.faults = faults;
  simulation.workers_min = count_of(flags).least;
  set_length(simulation.journal, plan);
  simulation.journal.nodes = cluster.nodes.size();
  simulation.journal.quiet = flags.quiet;
  simulation.journal.print = [](const std::string& text) {
    fmt::print("{}", text);
    std::fflush(stdout);
  };
  const fs::path folder = flags.out;
  const SimulationResult result = shoal::simulate(
      plan, *paced, simulation,
      [&](const std::string& path, auto content) { write_file(folder / path, content); });
  const Outcome& outcome = result.outcome;
  if (!outcome.errors.empty()) {
    const NodeError& e = outcome.errors.front();
    throw DataError(fmt::format("worker {}, life {}: {}", e.node, e.incarnation, e.what));
  }
  if (!result.violation.empty()) {
    fmt::print(stderr, "shoal: an invariant is broken: {}\n", result.violation);
    return ExitCode::kCorrectness;
  }
  if (!outcome.finished || result.ended == 0) {
    fmt::print(stderr, "shoal: at {:.3f} s of virtual time nobody goes on\n{}",
               seconds(outcome.end), outcome.waiting_for);
    return ExitCode::kLiveness;
  }
  if (!flags.quiet) print_end(*this, result);
  return ExitCode::kOk;
}

}  // namespace shoal
