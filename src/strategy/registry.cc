#include "strategy/registry.h"

namespace shoal {
namespace {

using Kind = Consistency::Kind;

Recipe served(const Serving& serving) {
  Recipe recipe;
  recipe.updater = Updater::Servers;
  recipe.exchange = Exchange::Direct;
  recipe.overlap = false;
  recipe.keep = KeepBatch::Worker;
  recipe.serving = serving;
  return recipe;
}

Recipe each_its_own(const Peering& peering, const Encode& encode = {}) {
  Recipe recipe;
  recipe.updater = Updater::Each;
  recipe.exchange = Exchange::Direct;
  recipe.overlap = false;
  recipe.keep = KeepBatch::Worker;
  recipe.peering = peering;
  recipe.encode = encode;
  return recipe;
}

std::vector<System> make_systems() {
  return {
      {.name = "shoal",
       .citation = "Shoal, docs/architecture.md",
       .sentence = "each worker adds up and updates its part of the model, and copies those of the "
                   "others, and nothing is sent; between hosts everyone gets the sum",
       .recipe = {.updater = Updater::Owners, .exchange = Exchange::Direct},
       .adapts = true},
      {.name = "ensemble",
       .aliases = {"bagging"},
       .year = 1990,
       .citation = "Hansen, Salamon, Neural Network Ensembles, IEEE TPAMI 12(10), 1990; Breiman, "
                   "Bagging Predictors, Machine Learning 24(2), 1996",
       .reference = "doi:10.1109/34.58871",
       .sentence = "every worker trains a model alone, on samples drawn with replacement; the "
                   "prediction is the mean of all, or their vote",
       .recipe =
           each_its_own({.meet = Encounter::Never, .combine = Combine::Mean, .bagging = true})},
      {.name = "asgd",
       .aliases = {"dmtk", "dianne", "tensorflow-async", "mxnet-async"},
       .year = 2009,
       .citation = "Langford, Smola, Zinkevich, Slow Learners are Fast, NIPS 2009; as in DMTK "
                   "(Multiverso, 2015), DIANNE (De Coninck et al. 2016), TensorFlow (Abadi et al. "
                   "2016) and MXNet's dist_async (Chen et al. 2015)",
       .reference = "arXiv:0911.0491",
       .sentence = "every gradient is an update as soon as it comes to the server; nobody waits",
       .recipe = served({.consistency = {Kind::Async}, .servers = 1}),
       .optimizer = "sgd"},
      {.name = "parallel-sgd",
       .year = 2010,
       .citation = "Zinkevich, Weimer, Smola, Li, Parallelized Stochastic Gradient Descent, NIPS "
                   "2010",
       .sentence = "every worker trains alone; the result is the mean of all models. For convex "
                   "problems",
       .recipe = each_its_own({.meet = Encounter::Never}),
       .optimizer = "sgd"},
      {.name = "hogwild",
       .year = 2011,
       .citation = "Recht, Re, Wright, Niu, Hogwild!: A Lock-Free Approach to Parallelizing "
                   "Stochastic Gradient Descent, NIPS 2011",
       .reference = "arXiv:1106.5730",
       .sentence = "threads of a worker share its model, and move single numbers of it without "
                   "locks; for models whose gradients are sparse",
       .recipe = each_its_own({.meet = Encounter::Wild, .tau = 1, .learners = 2}),
       .optimizer = "sgd"},
      {.name = "downpour",
       .aliases = {"distbelief"},
       .year = 2012,
       .citation = "Dean et al., Large Scale Distributed Deep Networks, NIPS 2012 (DistBelief)",
       .sentence =
           "workers push and fetch every few steps, move alone in between, and come and go; "
           "AdaGrad at the servers; one worker begins alone",
       .recipe = served({.consistency = {Kind::Async},
                         .servers = 1,
                         .push_every = 2,
                         .fetch = {.steps = 2},
                         .warm_start = 20}),
       .optimizer = "adagrad"},
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
      {.name = "butterfly-sgd",
       .year = 2013,
       .citation = "Zhao, Canny, Butterfly Mixing: Accelerating Incremental-Update Algorithms on "
                   "Clusters, SDM 2013",
       .reference = "doi:10.1137/1.9781611972832.87",
       .sentence = "in each step a model becomes the mean with that of one partner of a hypercube",
       .recipe = each_its_own(
           {.meet = Encounter::Neighbours, .tau = 1, .topology = {Topology::Kind::Hypercube}}),
       .workers_min = 2},
      {.name = "ssp",
       .year = 2013,
       .citation = "Ho et al., More Effective Distributed ML via a Stale Synchronous Parallel "
                   "Parameter Server, NIPS 2013",
       .sentence =
           "a worker waits while it is more than s steps ahead of the slowest; it reads when "
           "what it has is too old for that",
       .recipe = served({.consistency = {Kind::Bounded, 3},
                         .servers = 1,
                         .fetch = {.kind = Fetch::Kind::Stale}}),
       .optimizer = "sgd"},
      {.name = "cntk-1bit",
       .year = 2014,
       .citation = "Seide, Fu, Droppo, Li, Yu, 1-Bit Stochastic Gradient Descent and its "
                   "Application to Data-Parallel Distributed Training of Speech DNNs, Interspeech "
                   "2014; CNTK",
       .sentence = "the owner of a part sums the signs that all send, and sends those of the sum; "
                   "both keep what they left out; full numbers in the first tenth of an epoch",
       .recipe = {.updater = Updater::Everyone,
                  .exchange = Exchange::Direct,
                  .encode = {{.kind = Encoding::Kind::Onebit, .feedback = true},
                             EncodedForm::Direct,
                             0.1}},
       .workers_min = 2},
      {.name = "parameter-server",
       .year = 2014,
       .citation =
           "Li et al., Scaling Distributed Machine Learning with the Parameter Server, OSDI "
           "2014",
       .sentence =
           "ranges are pushed and pulled under a bounded delay; every range is on two servers "
           "of a chain; `--filter` and `--compress` are its filters, and with `--groups` one "
           "worker "
           "of a group speaks for it",
       .recipe = served({.consistency = {Kind::Bounded, 4}, .servers = 2, .copies = 2}),
       .optimizer = "sgd"},
      {.name = "project-adam",
       .year = 2014,
       .citation =
           "Chilimbi et al., Project Adam: Building an Efficient and Scalable Deep Learning "
           "Training System, OSDI 2014",
       .sentence = "asynchronous; of fully connected layers activations and errors are pushed, and "
                   "the servers, two of a chain, form the gradient",
       .recipe = served({.consistency = {Kind::Async}, .servers = 2, .copies = 2, .factors = true}),
       .optimizer = "sgd"},
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
      {.name = "dogwild",
       .year = 2014,
       .citation = "Noel, Osindero, Dogwild! - Distributed Hogwild for CPU & GPU, NIPS workshop on "
                   "Distributed Machine Learning and Matrix Computations 2014",
       .sentence = "every gradient is sent to all others, who add it to their next update if it "
                   "comes; nobody waits, and losses are tolerated",
       .recipe = each_its_own({.meet = Encounter::Stream,
                               .tau = 1,
                               .in_step = false,
                               .topology = {Topology::Kind::Complete}}),
       .optimizer = "sgd",
       .eta_times = 2,
       .workers_min = 2},
      {.name = "dl4j-strom",
       .year = 2015,
       .citation = "Strom, Scalable Distributed DNN Training Using Commodity GPU Cloud Computing, "
                   "Interspeech 2015; DL4J's gradient sharing",
       .sentence =
           "of gradients and what waits of earlier ones the signs of those elements are sent "
           "to all others that reach a threshold; everyone moves by what is sent, and nobody "
           "waits for another's step",
       .recipe =
           each_its_own({.meet = Encounter::Stream,
                         .tau = 1,
                         .in_step = false,
                         .topology = {Topology::Kind::Complete}},
                        {.as = {.kind = Encoding::Kind::Strom, .theta = 0.01, .feedback = true}}),
       .workers_min = 2},
      {.name = "bosen",
       .year = 2015,
       .citation = "Wei et al., Managed Communication and Consistency for Fast Data-Parallel "
                   "Iterative Analytics, SoCC 2015 (Bosen)",
       .reference = "doi:10.1145/2806777.2806778",
       .sentence = "as petuum; a worker pushes no more bytes than a budget allows, and what "
                   "changes its parameter most goes first",
       .recipe = served({.consistency = {Kind::Bounded, 3},
                         .servers = 1,
                         .fetch = {.kind = Fetch::Kind::Eager},
                         .filter = {Filter::Kind::Magnitude, 0, 1e7, 1e6}}),
       .optimizer = "sgd"},
      {.name = "easgd",
       .year = 2015,
       .citation = "Zhang, Choromanska, LeCun, Deep Learning with Elastic Averaging SGD, NIPS 2015",
       .reference = "arXiv:1412.6651",
       .sentence = "every few steps a model and a center pull at each other; `--pace step` is its "
                   "synchronous form",
       .recipe = each_its_own({.meet = Encounter::Elastic, .in_step = false}),
       .optimizer = "sgd",
       .eta_times = 2},
      {.name = "eamsgd",
       .year = 2015,
       .citation = "Zhang, Choromanska, LeCun, Deep Learning with Elastic Averaging SGD, NIPS 2015",
       .reference = "arXiv:1412.6651",
       .sentence = "as easgd, with Nesterov's momentum at each worker",
       .recipe = each_its_own({.meet = Encounter::Elastic, .in_step = false}),
       .optimizer = "nesterov"},
      {.name = "mxnet",
       .year = 2015,
       .citation = "Chen et al., MXNet: A Flexible and Efficient Machine Learning Library for "
                   "Heterogeneous Distributed Systems, LearningSys at NIPS 2015",
       .reference = "arXiv:1512.01274",
       .sentence = "the workers of a host add up their gradients, and push and read as one; this "
                   "is its dist_sync, `--consistency async` its dist_async",
       .recipe = served({.servers = 1, .groups = {Groups::By::Host}})},
      {.name = "malt",
       .year = 2015,
       .citation = "Li, Kadav, Kruus, Ungureanu, MALT: Distributed Data-Parallelism for Existing "
                   "ML Applications, EuroSys 2015",
       .reference = "doi:10.1145/2741948.2741965",
       .sentence = "every few steps a model is sent to a few others, by the Halton sequence, each "
                   "of whom averages what has come; `--pace step` is its synchronous form",
       .recipe = each_its_own({.meet = Encounter::Scatter,
                               .tau = 5,
                               .in_step = false,
                               .topology = {Topology::Kind::Halton}}),
       .workers_min = 2},
      {.name = "petuum",
       .aliases = {"essp"},
       .year = 2015,
       .citation = "Dai et al., High-Performance Distributed ML at Scale through Parameter Server "
                   "Consistency Models, AAAI 2015",
       .reference = "arXiv:1410.8043",
       .sentence = "as ssp; servers send what they have as soon as the slowest worker has advanced",
       .recipe = served({.consistency = {Kind::Bounded, 3},
                         .servers = 1,
                         .fetch = {.kind = Fetch::Kind::Eager}}),
       .optimizer = "sgd"},
      {.name = "singa",
       .year = 2015,
       .citation = "Ooi et al., SINGA: A Distributed Deep Learning Platform, ACM Multimedia 2015",
       .reference = "doi:10.1145/2733373.2807410",
       .sentence =
           "a server inside each worker, all in step as all-reduce is; `--consistency async` "
           "is its other mode, `--servers` puts them apart",
       .recipe = served({})},
      {.name = "value-bound",
       .year = 2015,
       .citation = "Wei et al., Managed Communication and Consistency for Fast Data-Parallel "
                   "Iterative Analytics, SoCC 2015; Dai et al. 2015 (VAP)",
       .reference = "doi:10.1145/2806777.2806778",
       .sentence = "a push waits while what the slowest worker has not seen would reach a bound",
       .recipe = served({.consistency = {Kind::Value, 0, 0.1}, .servers = 1}),
       .optimizer = "sgd"},
      {.name = "ako",
       .year = 2016,
       .citation = "Watcharapichat, Morales, Fernandez, Pietzuch, Ako: Decentralised Deep Learning "
                   "with Partial Gradient Exchange, SoCC 2016",
       .reference = "doi:10.1145/2987550.2987586",
       .sentence = "in each step every other worker gets another part of the gradients, summed "
                   "since it last got that part",
       .recipe = each_its_own({.meet = Encounter::Parts, .tau = 1, .in_step = false}),
       .optimizer = "sgd",
       .eta_times = 2,
       .workers_min = 2},
      {.name = "async-momentum",
       .year = 2016,
       .citation = "Mitliagkas, Zhang, Hadjis, Re, Asynchrony Begets Momentum, with an Application "
                   "to Deep Learning, Allerton 2016",
       .reference = "arXiv:1605.09774",
       .sentence = "asynchronous, with a momentum that is lower by what the workers bring by being "
                   "late",
       .recipe = served({.consistency = {Kind::Async}, .servers = 1, .lower_momentum = true}),
       .optimizer = "momentum"},
      {.name = "bmuf",
       .year = 2016,
       .citation = "Chen, Huo, Scalable Training of Deep Learning Machines by Incremental Block "
                   "Training with Intra-block Parallel Optimization and Blockwise Model-Update "
                   "Filtering, ICASSP 2016; CNTK's block momentum",
       .reference = "doi:10.1109/ICASSP.2016.7472805",
       .sentence = "the mean of all models moves the global one with a momentum of 1 - 1/P; "
                   "`--block-nesterov` is its other form",
       .recipe = each_its_own({.meet = Encounter::Block, .block_momentum = kAuto}),
       .optimizer = "sgd"},
      {.name = "deepspark",
       .year = 2016,
       .citation = "Kim, Park, Jang, Yoon, DeepSpark: Spark-Based Deep Learning Supporting "
                   "Asynchronous Updates and Caffe Compatibility, 2016",
       .reference = "arXiv:1602.08191",
       .sentence = "as easgd; how far a model moves follows how its loss falls",
       .recipe = each_its_own({.meet = Encounter::Elastic, .in_step = false, .adapt_alpha = true}),
       .optimizer = "sgd",
       .eta_times = 2},
      {.name = "dl4j",
       .year = 2016,
       .citation = "Deeplearning4j Development Team, parameter averaging on Spark, 2016",
       .sentence = "models are averaged every 5 steps",
       .recipe = each_its_own({.tau = 5})},
      {.name = "firecaffe",
       .year = 2016,
       .citation = "Iandola et al., FireCaffe: Near-Linear Acceleration of Deep Neural Network "
                   "Training on Compute Clusters, CVPR 2016",
       .reference = "arXiv:1511.00175",
       .sentence = "gradients go up a binomial tree to one server, parameters down it",
       .recipe = {.updater = Updater::Root, .exchange = Exchange::Tree, .overlap = false},
       .bucket_bytes = kOneBucket},
      {.name = "gosgd",
       .year = 2016,
       .citation = "Blot, Picard, Cord, Thome, Gossip Training for Deep Learning, 2016",
       .reference = "arXiv:1611.09726",
       .sentence =
           "after a step a worker sends its model now and then to a random one, which mixes "
           "it in by weight; nobody waits",
       .recipe = each_its_own({.meet = Encounter::Gossip,
                               .in_step = false,
                               .topology = {Topology::Kind::Complete},
                               .gossip = 0.25}),
       .workers_min = 2},
      {.name = "hierarchical",
       .year = 2016,
       .citation =
           "leaf servers: Gupta, Zhang, Wang, ICDM 2016 (Rudra); proxies as write-back "
           "caches: Li et al., OSDI 2014, Chen et al. 2015; surveyed by Ben-Nun, Hoefler, "
           "Demystifying Parallel and Distributed Deep Learning, ACM Computing Surveys 2019",
       .reference = "arXiv:1802.09941",
       .sentence = "one worker of each host serves the others, who do not wait for each other; it "
                   "writes back to the servers under a bounded delay",
       .recipe = served({.consistency = {Kind::Bounded, 1},
                         .servers = 1,
                         .groups = {Groups::By::Host},
                         .write_back = 4}),
       .optimizer = "sgd"},
      {.name = "reject-stale",
       .year = 2016,
       .citation = "the simplest answer to late gradients; compared with others in Chen et al., "
                   "Revisiting Distributed Synchronous SGD, 2016",
       .reference = "arXiv:1604.00981",
       .sentence = "gradients that are too many updates late are dropped",
       .recipe = served({.consistency = {Kind::Reject, 4}, .servers = 1}),
       .optimizer = "sgd"},
      {.name = "rudra",
       .year = 2016,
       .citation = "Gupta, Zhang, Wang, Model Accuracy and Runtime Tradeoff in Distributed Deep "
                   "Learning: A Systematic Study, ICDM 2016",
       .reference = "arXiv:1509.04210",
       .sentence =
           "the server updates after P/n gradients of any workers, with a step n times smaller; "
           "`--consistency synchronous` is its hardsync, `--groups` its tree of servers",
       .recipe = served({.consistency = {Kind::Softsync, 2}, .servers = 1}),
       .optimizer = "sgd"},
      {.name = "sfb",
       .year = 2016,
       .citation = "Xie, Kim, Zhou, Ho, Kumar, Yu, Xing, Lighter-Communication Distributed Machine "
                   "Learning via Sufficient Factor Broadcasting, UAI 2016",
       .reference = "arXiv:1409.5705",
       .sentence = "of fully connected layers everyone sends activations and errors to all others, "
                   "who form the gradient",
       .recipe = {.exchange = Exchange::Direct, .encode = {{.kind = Encoding::Kind::Sfb}}},
       .workers_min = 2},
      {.name = "sparknet",
       .aliases = {"local-sgd"},
       .year = 2016,
       .citation = "Moritz, Nishihara, Stoica, Jordan, SparkNet: Training Deep Networks in Spark, "
                   "ICLR 2016; local SGD: Stich, ICLR 2019",
       .reference = "arXiv:1511.06051",
       .sentence = "every worker makes 10 steps alone, then all models are averaged",
       .recipe = each_its_own({})},
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
      {.name = "tree-easgd",
       .year = 2016,
       .citation = "Zhang, Distributed Stochastic Optimization for Deep Learning, PhD thesis, New "
                   "York University 2016",
       .reference = "arXiv:1605.02216",
       .sentence = "models are sent up and down a tree, and pull at whoever receives them; the "
                   "root's is the result",
       .recipe = each_its_own({.meet = Encounter::Tree,
                               .tau = 4,
                               .in_step = false,
                               .topology = {Topology::Kind::Tree}}),
       .optimizer = "sgd",
       .eta_times = 2},
      {.name = "asp",
       .aliases = {"gaia"},
       .year = 2017,
       .citation = "Hsieh et al., Gaia: Geo-Distributed Machine Learning Approaching LAN Speeds, "
                   "NSDI 2017 (approximate synchronous parallel)",
       .sentence = "the workers of a host are a site; between sites go updates that have come to "
                   "change their parameter by a part of it that shrinks with time; no clock is far "
                   "ahead, and a read waits for what was announced",
       .recipe = served({.consistency = {Kind::Bounded, 3},
                         .servers = 1,
                         .groups = {Groups::By::Host},
                         .filter = {Filter::Kind::Significant, 0.01},
                         .barrier = true}),
       .optimizer = "sgd"},
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
      {.name = "consgd",
       .year = 2017,
       .citation =
           "Jiang, Cui, Zhang, Yu, Heterogeneity-aware Distributed Parameter Servers, SIGMOD "
           "2017",
       .reference = "doi:10.1145/3035918.3035933",
       .sentence = "as ssp; every push counts 1/P",
       .recipe = served({.consistency = {Kind::Bounded, 3}, .servers = 1, .weigh = Weigh::Workers}),
       .optimizer = "sgd"},
      {.name = "d-psgd",
       .year = 2017,
       .citation = "Lian et al., Can Decentralized Algorithms Outperform Centralized Algorithms? A "
                   "Case Study for Decentralized Parallel Stochastic Gradient Descent, NIPS 2017",
       .reference = "arXiv:1705.09056",
       .sentence = "in each step a model becomes a mean with those beside it on a ring, while its "
                   "gradient is computed",
       .recipe = each_its_own({.meet = Encounter::Neighbours, .tau = 1})},
      {.name = "dc-asgd",
       .year = 2017,
       .citation =
           "Zheng et al., Asynchronous Stochastic Gradient Descent with Delay Compensation, "
           "ICML 2017",
       .reference = "arXiv:1609.08326",
       .sentence = "asynchronous; a late gradient is corrected by what it would have been, by the "
                   "outer product of gradients in place of the Hessian",
       .recipe = served({.consistency = {Kind::Async}, .servers = 1, .compensation = {0.04}}),
       .optimizer = "sgd"},
      {.name = "dynsgd",
       .year = 2017,
       .citation =
           "Jiang, Cui, Zhang, Yu, Heterogeneity-aware Distributed Parameter Servers, SIGMOD "
           "2017",
       .reference = "doi:10.1145/3035918.3035933",
       .sentence = "as ssp; a push that is d - 1 updates late counts 1/d",
       .recipe =
           served({.consistency = {Kind::Bounded, 3}, .servers = 1, .weigh = Weigh::Staleness}),
       .optimizer = "sgd"},
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
      {.name = "poseidon",
       .year = 2017,
       .citation =
           "Zhang et al., Poseidon: An Efficient Communication Architecture for Distributed "
           "Deep Learning on GPU Clusters, USENIX ATC 2017",
       .reference = "arXiv:1706.03292",
       .sentence =
           "of each layer its factors or its gradient, whichever is less to send; each worker "
           "serves a part",
       .recipe = {.exchange = Exchange::Direct, .encode = {{.kind = Encoding::Kind::Poseidon}}},
       .workers_min = 2},
      {.name = "dgc",
       .year = 2018,
       .citation = "Lin, Han, Mao, Wang, Dally, Deep Gradient Compression, ICLR 2018",
       .reference = "arXiv:1712.01887",
       .sentence =
           "one in a thousand of the gathered gradients is sent, the largest, with momentum "
           "gathered as well; more of them in the first four epochs",
       .recipe = {.updater = Updater::Everyone,
                  .exchange = Exchange::Direct,
                  .encode = {{.kind = Encoding::Kind::Dgc, .ratio = 0.001}}},
       .optimizer = "sgd",
       .workers_min = 2},
      {.name = "ad-psgd",
       .year = 2018,
       .citation = "Lian, Zhang, Zhang, Liu, Asynchronous Decentralized Parallel Stochastic "
                   "Gradient Descent, ICML 2018",
       .reference = "arXiv:1710.06952",
       .sentence = "two models of a ring become their mean whenever one of the two workers is done "
                   "with a step",
       .recipe = each_its_own({.meet = Encounter::Pairs, .tau = 1, .in_step = false}),
       .workers_min = 2},
      {.name = "horovod",
       .year = 2018,
       .citation = "Sergeev, Del Balso, Horovod: Fast and Easy Distributed Deep Learning in "
                   "TensorFlow, 2018",
       .reference = "arXiv:1802.05799",
       .sentence = "ring all-reduce of fused tensors, 64 MiB at a time",
       .recipe = {.exchange = Exchange::Ring},
       .bucket_bytes = Bytes(64 << 20)},
      {.name = "mxnet-mpi",
       .year = 2018,
       .citation = "Mamidala, Kollias, Ward, Artico, MXNET-MPI: Embedding MPI Parallelism in "
                   "Parameter Server Task Model for Scaling Deep Learning, 2018",
       .reference = "arXiv:1801.03855",
       .sentence = "groups of workers: in step inside, asynchronous between them",
       .recipe =
           served({.consistency = {Kind::Async}, .servers = 1, .groups = {Groups::By::Size, 2}}),
       .optimizer = "sgd",
       .workers_min = 2},
      {.name = "mpca-sgd",
       .year = 2018,
       .citation = "Langer, Hall, He, Rahayu, MPCA SGD - A Method for Distributed Training of Deep "
                   "Learning Models on Spark, IEEE TPDS 29(11), 2018",
       .reference = "doi:10.1109/TPDS.2018.2833074",
       .sentence = "models hear of the mean of all one exchange late, while they train, and are "
                   "drawn to where it is thought to be",
       .recipe = each_its_own({.meet = Encounter::Master,
                               .tau = 5,
                               .in_step = false,
                               .penalty = 0.01,
                               .extrapolate = 0.2})},
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
      {.name = "crossbow",
       .aliases = {"sma"},
       .year = 2019,
       .citation = "Koliousis, Watcharapichat, Weidlich, Mai, Costa, Pietzuch, Crossbow: Scaling "
                   "Deep Learning with Small Batch Sizes on Multi-GPU Servers, PVLDB 12(11), 2019",
       .reference = "arXiv:1901.02244",
       .sentence = "several learners of a worker and a central model pull at each other; their "
                   "number is that of the highest throughput",
       .recipe = each_its_own({.meet = Encounter::Learners, .tau = 1, .block_momentum = 0.9}),
       .optimizer = "sgd",
       .eta_times = 2},
      {.name = "pytorch",
       .year = 2020,
       .citation = "Li et al., PyTorch Distributed: Experiences on Accelerating Data Parallel "
                   "Training, PVLDB 13(12), 2020",
       .reference = "doi:10.14778/3415478.3415530",
       .sentence = "replicated optimizer; buckets of 25 MiB are all-reduced while backward goes on",
       .recipe = {.exchange = Exchange::Ring},
       .bucket_bytes = Bytes(25 << 20)},
      {.name = "diloco",
       .year = 2023,
       .citation = "Douillard et al., DiLoCo: Distributed Low-Communication Training of Language "
                   "Models, 2023",
       .reference = "arXiv:2311.08105",
       .sentence = "AdamW at each worker; every 100 steps the mean of all models is a step of "
                   "Nesterov's momentum",
       .recipe = each_its_own({.meet = Encounter::Block,
                               .tau = 100,
                               .block_momentum = 0.9,
                               .block_rate = 0.7,
                               .block_nesterov = true}),
       .optimizer = "adamw"},
  };
}

}  // namespace

std::span<const System> systems() {
  static const std::vector<System> kAll = make_systems();
  return kAll;
}

}  // namespace shoal
