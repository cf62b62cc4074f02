// Systems whose workers compute one step together.
#include "recipe/registry_families.h"

namespace shoal {

std::vector<System> synchronous_systems() {
  return {
      {.name = "shoal",
       .citation = "Shoal, docs/architecture.md",
       .sentence = "on one host each worker sums and updates its part of the model in shared "
                   "memory, without sending; between hosts, an all-reduce",
       .recipe = InStep{.updater = Updater::Owners, .exchange = Exchange::Direct},
       .adapts = true},
      {.name = "redundant",
       .year = 2012,
       .citation = "Dean et al., Large Scale Distributed Deep Networks, NIPS 2012 (DistBelief)",
       .sentence = "two workers compute each share of a batch, and the first result counts",
       .recipe = InStep{.updater = Updater::Owners,
                        .exchange = Exchange::Direct,
                        .order = SendOrder::Fifo,
                        .stragglers = RedundantGradients()},
       .workers_min = 2},
      {.name = "cntk-1bit",
       .year = 2014,
       .citation = "Seide, Fu, Droppo, Li, Yu, 1-Bit Stochastic Gradient Descent and its "
                   "Application to Data-Parallel Distributed Training of Speech DNNs, Interspeech "
                   "2014; CNTK",
       .sentence = "workers send signs; the owner of a part sums them and sends the signs of the "
                   "sum; both keep residuals; no encoding in the first tenth of an epoch",
       .recipe =
           InStep{.updater = Updater::Everyone,
                  .exchange = Exchange::Direct,
                  .encode = {{.method = Onebit{}, .feedback = true}, EncodedForm::Direct, 0.1}},
       .workers_min = 2},
      {.name = "project-adam-epoch",
       .year = 2014,
       .citation =
           "Chilimbi et al., Project Adam: Building an Efficient and Scalable Deep Learning "
           "Training System, OSDI 2014",
       .sentence = "an epoch ends when 75 % of its samples have been processed, so that no worker "
                   "waits for the last ones",
       .recipe =
           InStep{
               .updater = Updater::Owners, .exchange = Exchange::Direct, .epoch_fraction = 0.75}},
      {.name = "firecaffe",
       .year = 2016,
       .citation = "Iandola et al., FireCaffe: Near-Linear Acceleration of Deep Neural Network "
                   "Training on Compute Clusters, CVPR 2016",
       .reference = "arXiv:1511.00175",
       .sentence = "gradients are reduced along a binomial tree to one server, and parameters are "
                   "broadcast down the tree",
       .recipe =
           InStep{.updater = Updater::Root, .exchange = Exchange::Tree, .order = SendOrder::Fifo},
       .bucket_bytes = kOneBucket},
      {.name = "sfb",
       .year = 2016,
       .citation = "Xie, Kim, Zhou, Ho, Kumar, Yu, Xing, Lighter-Communication Distributed Machine "
                   "Learning via Sufficient Factor Broadcasting, UAI 2016",
       .reference = "arXiv:1409.5705",
       .sentence = "for fully connected layers, workers send activations and errors to all others, "
                   "which compute the gradient",
       .recipe = InStep{.exchange = Exchange::Direct, .encode = {{.method = Sfb{}}}},
       .workers_min = 2},
      {.name = "tensorflow-sync",
       .year = 2016,
       .citation = "backup workers: Chen et al., Revisiting Distributed Synchronous SGD, "
                   "arXiv:1604.00981; Abadi et al., TensorFlow: A System for Large-Scale Machine "
                   "Learning, OSDI 2016",
       .reference = "arXiv:1605.08695",
       .sentence = "each worker serves a part of the model; the first gradients of a step count, "
                   "and as many as there are backup workers are dropped",
       .recipe = InStep{.updater = Updater::Owners,
                        .exchange = Exchange::Direct,
                        .order = SendOrder::Fifo,
                        .stragglers = FirstGradients{.backups = 1}},
       .workers_min = 2},
      {.name = "baidu",
       .year = 2017,
       .citation = "Gibiansky, Bringing HPC Techniques to Deep Learning, Baidu Research 2017",
       .sentence = "ring all-reduce, tensor by tensor",
       .recipe = InStep{.exchange = Exchange::Ring},
       .bucket_bytes = kEachTensor},
      {.name = "caffe2",
       .year = 2017,
       .citation = "Goyal et al., Accurate, Large Minibatch SGD: Training ImageNet in 1 Hour, 2017 "
                   "(Gloo)",
       .reference = "arXiv:1706.02677",
       .sentence = "recursive halving and doubling, tensor by tensor; `--exchange ring` is its "
                   "choice for large buffers",
       .recipe = InStep{.exchange = Exchange::HalvingDoubling},
       .bucket_bytes = kEachTensor},
      {.name = "chainermn",
       .year = 2017,
       .citation =
           "Akiba, Fukuda, Suzuki, ChainerMN: Scalable Distributed Deep Learning Framework, "
           "2017",
       .reference = "arXiv:1710.11351",
       .sentence = "all gradients in one buffer, summed inside each host, then between the hosts' "
                   "leaders",
       .recipe = InStep{.exchange = Exchange::Hierarchical, .order = SendOrder::Fifo},
       .bucket_bytes = kOneBucket},
      {.name = "a-bsp",
       .year = 2018,
       .citation = "Wang, Chen, Pi, Zhou, Aggressive Synchronization with Partial Processing for "
                   "Iterative ML Jobs on Clusters, Middleware 2018",
       .sentence = "when the fastest worker has finished its share, all workers synchronize, "
                   "weighted by finished samples; unfinished samples come first in the next step",
       .recipe = InStep{.updater = Updater::Owners,
                        .exchange = Exchange::Direct,
                        .order = SendOrder::Fifo,
                        .stragglers = PartialGradients()},
       .workers_min = 2},
      {.name = "poseidon",
       .year = 2017,
       .citation =
           "Zhang et al., Poseidon: An Efficient Communication Architecture for Distributed "
           "Deep Learning on GPU Clusters, USENIX ATC 2017",
       .reference = "arXiv:1706.03292",
       .sentence =
           "per layer, the smaller of factors and gradient is sent; each worker serves a part",
       .recipe = InStep{.exchange = Exchange::Direct, .encode = {{.method = Poseidon{}}}},
       .workers_min = 2},
      {.name = "dgc",
       .year = 2018,
       .citation = "Lin, Han, Mao, Wang, Dally, Deep Gradient Compression, ICLR 2018",
       .reference = "arXiv:1712.01887",
       .sentence = "the largest 0.1 % of the accumulated gradients is sent, with momentum "
                   "correction; more in the first four epochs",
       .recipe = InStep{.updater = Updater::Everyone,
                        .exchange = Exchange::Direct,
                        .encode = {{.method = Dgc{.ratio = 0.001}}}},
       .optimizer = "sgd",
       .workers_min = 2},
      {.name = "horovod",
       .year = 2018,
       .citation = "Sergeev, Del Balso, Horovod: Fast and Easy Distributed Deep Learning in "
                   "TensorFlow, 2018",
       .reference = "arXiv:1802.05799",
       .sentence = "ring all-reduce of fused tensors, 64 MiB at a time",
       .recipe = InStep{.exchange = Exchange::Ring},
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
       .recipe =
           InStep{
               .updater = Updater::Owners, .exchange = Exchange::Direct, .order = SendOrder::Fifo},
       .bucket_bytes = kOneBucket},
      {.name = "pytorch",
       .year = 2020,
       .citation = "Li et al., PyTorch Distributed: Experiences on Accelerating Data Parallel "
                   "Training, PVLDB 13(12), 2020",
       .reference = "doi:10.14778/3415478.3415530",
       .sentence =
           "replicated optimizer; buckets of 25 MiB are all-reduced during the backward pass",
       .recipe = InStep{.exchange = Exchange::Ring},
       .bucket_bytes = Bytes(25 << 20)},
  };
}

}  // namespace shoal
