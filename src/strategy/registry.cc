#include "strategy/registry.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "base/nearest.h"

namespace shoal {
namespace {

std::vector<System> make_systems() {
  return {
      {.name = "shoal",
       .citation = "Shoal, docs/architecture.md",
       .sentence = "each worker adds up and updates its part of the model, and copies those of the "
                   "others; between workers of one host nothing is sent",
       .recipe = {.updater = Updater::Owners, .exchange = Exchange::Direct},
       .tune_buckets = true},
      {.name = "redundant",
       .year = 2012,
       .citation = "Dean et al., Large Scale Distributed Deep Networks, NIPS 2012 (DistBelief)",
       .sentence = "every share of a batch is computed by two workers, and the first of each two "
                   "counts",
       .recipe = {.updater = Updater::Owners,
                  .exchange = Exchange::Direct,
                  .overlap = false,
                  .turnout = Turnout::Redundant},
       .workers_min = 2},
      {.name = "project-adam-epoch",
       .year = 2014,
       .citation =
           "Chilimbi et al., Project Adam: Building an Efficient and Scalable Deep Learning "
           "Training System, OSDI 2014",
       .sentence = "an epoch ends when 75 % of its samples have been processed, so that nobody "
                   "waits for the last",
       .recipe = {.updater = Updater::Owners,
                  .exchange = Exchange::Direct,
                  .epoch_fraction = 0.75}},
      {.name = "firecaffe",
       .year = 2016,
       .citation = "Iandola et al., FireCaffe: Near-Linear Acceleration of Deep Neural Network "
                   "Training on Compute Clusters, CVPR 2016",
       .reference = "arXiv:1511.00175",
       .sentence = "gradients go up a binomial tree to one server, parameters down it",
       .recipe = {.updater = Updater::Root, .exchange = Exchange::Tree, .overlap = false},
       .bucket_bytes = kOneBucket},
      {.name = "tensorflow-sync",
       .year = 2016,
       .citation = "backup workers: Chen et al., Revisiting Distributed Synchronous SGD, "
                   "arXiv:1604.00981; Abadi et al., TensorFlow: A System for Large-Scale Machine "
                   "Learning, OSDI 2016",
       .reference = "arXiv:1605.08695",
       .sentence = "every worker serves a part of the model; of the gradients of a step the first "
                   "to come count, and those of the backup workers are dropped",
       .recipe = {.updater = Updater::Owners,
                  .exchange = Exchange::Direct,
                  .overlap = false,
                  .turnout = Turnout::First,
                  .backups = 1},
       .workers_min = 2},
      {.name = "baidu",
       .year = 2017,
       .citation = "Gibiansky, Bringing HPC Techniques to Deep Learning, Baidu Research 2017",
       .sentence = "ring all-reduce, tensor by tensor",
       .recipe = {.exchange = Exchange::Ring},
       .bucket_bytes = kEachTensor},
      {.name = "caffe2",
       .year = 2017,
       .citation = "Goyal et al., Accurate, Large Minibatch SGD: Training ImageNet in 1 Hour, 2017 "
                   "(Gloo)",
       .reference = "arXiv:1706.02677",
       .sentence = "recursive halving and doubling, tensor by tensor; `--exchange ring` is what it "
                   "takes for large buffers",
       .recipe = {.exchange = Exchange::HalvingDoubling},
       .bucket_bytes = kEachTensor},
      {.name = "chainermn",
       .year = 2017,
       .citation =
           "Akiba, Fukuda, Suzuki, ChainerMN: Scalable Distributed Deep Learning Framework, "
           "2017",
       .reference = "arXiv:1710.11351",
       .sentence = "all gradients in one buffer, summed inside each host, then between the hosts' "
                   "leaders",
       .recipe = {.exchange = Exchange::Hierarchical, .overlap = false},
       .bucket_bytes = kOneBucket},
      {.name = "a-bsp",
       .year = 2018,
       .citation = "Wang, Chen, Pi, Zhou, Aggressive Synchronization with Partial Processing for "
                   "Iterative ML Jobs on Clusters, Middleware 2018",
       .sentence = "when the fastest worker has ended its share all synchronize at once, weighted "
                   "by samples done; leftovers come first next time",
       .recipe = {.updater = Updater::Owners,
                  .exchange = Exchange::Direct,
                  .overlap = false,
                  .turnout = Turnout::Fastest},
       .workers_min = 2},
      {.name = "horovod",
       .year = 2018,
       .citation = "Sergeev, Del Balso, Horovod: Fast and Easy Distributed Deep Learning in "
                   "TensorFlow, 2018",
       .reference = "arXiv:1802.05799",
       .sentence = "ring all-reduce of fused tensors, 64 MiB at a time",
       .recipe = {.exchange = Exchange::Ring},
       .bucket_bytes = Bytes(64 << 20)},
      {.name = "bigdl",
       .aliases = {"caffeonspark"},
       .year = 2019,
       .citation = "CaffeOnSpark: Feng, Shi, Jain, Yahoo 2016; Dai et al., BigDL: A Distributed "
                   "Deep Learning Framework for Big Data, SoCC 2019",
       .reference = "doi:10.1145/3357223.3362707",
       .sentence =
           "as many servers as workers: gradients are reduce-scattered, each worker updates "
           "its part, and all gather the parameters",
       .recipe = {.updater = Updater::Owners, .exchange = Exchange::Direct, .overlap = false},
       .bucket_bytes = kOneBucket},
      {.name = "pytorch",
       .year = 2020,
       .citation = "Li et al., PyTorch Distributed: Experiences on Accelerating Data Parallel "
                   "Training, PVLDB 13(12), 2020",
       .reference = "doi:10.14778/3415478.3415530",
       .sentence = "replicated optimizer; buckets of 25 MiB are all-reduced while backward goes on",
       .recipe = {.exchange = Exchange::Ring},
       .bucket_bytes = Bytes(25 << 20)},
  };
}

}  // namespace

std::span<const System> systems() {
  static const std::vector<System> kAll = make_systems();
  return kAll;
}

const System& default_system() { return systems().front(); }

const System& find_system(std::string_view name) {
  for (const System& system : systems()) {
    const bool alias = std::ranges::find(system.aliases, name) != system.aliases.end();
    if (system.name == name || alias) return system;
  }
  throw ConfigError(
      fmt::format("--like {}: no such system. {}", name, suggest(name, system_names())));
}

std::vector<std::string> system_names() {
  std::vector<std::string> names;
  for (const System& system : systems()) {
    names.emplace_back(system.name);
    names.insert(names.end(), system.aliases.begin(), system.aliases.end());
  }
  return names;
}

}  // namespace shoal
