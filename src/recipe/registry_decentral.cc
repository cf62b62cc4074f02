// Systems in which each worker has its own model, and models are combined.
#include "recipe/registry_families.h"

namespace shoal {

namespace {

Recipe each_its_own(const AlgorithmChoice& algorithm, const Encode& encode = {}) {
  return Decentral{.algorithm = algorithm, .encode = encode};
}

}  // namespace

std::vector<System> decentral_systems() {
  return {
      {.name = "ensemble",
       .aliases = {"bagging"},
       .year = 1990,
       .citation = "Hansen, Salamon, Neural Network Ensembles, IEEE TPAMI 12(10), 1990; Breiman, "
                   "Bagging Predictors, Machine Learning 24(2), 1996",
       .reference = "doi:10.1109/34.58871",
       .sentence = "every worker trains a model alone, on samples drawn with replacement; "
                   "predictions are averaged or voted on",
       .recipe = each_its_own(IndependentSettings{.combine = Combine::Mean, .bagging = true}),
       .optimizer = "adam",
       .eta_times = 2},
      {.name = "parallel-sgd",
       .year = 2010,
       .citation = "Zinkevich, Weimer, Smola, Li, Parallelized Stochastic Gradient Descent, NIPS "
                   "2010",
       .sentence = "every worker trains alone; the result is the mean of all models. For convex "
                   "problems",
       .recipe = each_its_own(IndependentSettings{}),
       .optimizer = "sgd"},
      {.name = "hogwild",
       .year = 2011,
       .citation = "Recht, Re, Wright, Niu, Hogwild!: A Lock-Free Approach to Parallelizing "
                   "Stochastic Gradient Descent, NIPS 2011",
       .reference = "arXiv:1106.5730",
       .sentence = "the threads of a worker update its shared model without locks, element by "
                   "element; for models with sparse gradients",
       .recipe = each_its_own(HogwildSettings{.local_steps = 1, .learners = 2}),
       .optimizer = "sgd"},
      {.name = "butterfly-sgd",
       .year = 2013,
       .citation = "Zhao, Canny, Butterfly Mixing: Accelerating Incremental-Update Algorithms on "
                   "Clusters, SDM 2013",
       .reference = "doi:10.1137/1.9781611972832.87",
       .sentence =
           "in each step, two partners in a hypercube replace their models by the mean of both",
       .recipe =
           each_its_own(NeighboursSettings{.local_steps = 1, .topology = topology::Hypercube{}}),
       .workers_min = 2},
      {.name = "dogwild",
       .year = 2014,
       .citation = "Noel, Osindero, Dogwild! - Distributed Hogwild for CPU & GPU, NIPS workshop on "
                   "Distributed Machine Learning and Matrix Computations 2014",
       .sentence = "every gradient is sent to all other workers, which add it to their next "
                   "update; no worker waits, and gradients may be lost",
       .recipe = each_its_own(StreamSettings{.pace = WorkerPace::Async}),
       .optimizer = "sgd",
       .eta_times = 2,
       .workers_min = 2},
      {.name = "dl4j-strom",
       .year = 2015,
       .citation = "Strom, Scalable Distributed DNN Training Using Commodity GPU Cloud Computing, "
                   "Interspeech 2015; DL4J's gradient sharing",
       .sentence =
           "elements of gradient plus residual above a threshold are sent, as signs, to all other "
           "workers; each worker applies what it sent, and no worker waits for another's step",
       .recipe = each_its_own(StreamSettings{.pace = WorkerPace::Async},
                              {.as = {.method = Strom{.theta = 0.01}, .feedback = true}}),
       .optimizer = "sgd",
       .eta_times = 2,
       .workers_min = 2},
      {.name = "easgd",
       .year = 2015,
       .citation = "Zhang, Choromanska, LeCun, Deep Learning with Elastic Averaging SGD, NIPS 2015",
       .reference = "arXiv:1412.6651",
       .sentence = "every few steps a model and a center are pulled towards each other; `--pace "
                   "sync` is its synchronous form",
       .recipe = each_its_own(ElasticSettings{.local_steps = 4, .pace = WorkerPace::Async}),
       .optimizer = "sgd",
       .eta_times = 2.5},
      {.name = "eamsgd",
       .year = 2015,
       .citation = "Zhang, Choromanska, LeCun, Deep Learning with Elastic Averaging SGD, NIPS 2015",
       .reference = "arXiv:1412.6651",
       .sentence = "as easgd, with Nesterov's momentum at each worker",
       .recipe = each_its_own(ElasticSettings{.pace = WorkerPace::Async}),
       .optimizer = "nesterov"},
      {.name = "malt",
       .year = 2015,
       .citation = "Li, Kadav, Kruus, Ungureanu, MALT: Distributed Data-Parallelism for Existing "
                   "ML Applications, EuroSys 2015",
       .reference = "doi:10.1145/2741948.2741965",
       .sentence =
           "every few steps a model is sent to a few other workers, chosen by the Halton sequence, "
           "and each averages the models it received; `--pace sync` is its synchronous form",
       .recipe = each_its_own(ScatterSettings{
           .local_steps = 5, .pace = WorkerPace::Async, .topology = topology::Halton{}}),
       .workers_min = 2},
      {.name = "ako",
       .year = 2016,
       .citation = "Watcharapichat, Morales, Fernandez, Pietzuch, Ako: Decentralised Deep Learning "
                   "with Partial Gradient Exchange, SoCC 2016",
       .reference = "doi:10.1145/2987550.2987586",
       .sentence = "in each step, every other worker gets a different part of the gradients summed "
                   "since it last got that part",
       .recipe = each_its_own(PartsSettings{.pace = WorkerPace::Async}),
       .optimizer = "sgd",
       .eta_times = 3,
       .workers_min = 2},
      {.name = "bmuf",
       .year = 2016,
       .citation = "Chen, Huo, Scalable Training of Deep Learning Machines by Incremental Block "
                   "Training with Intra-block Parallel Optimization and Blockwise Model-Update "
                   "Filtering, ICASSP 2016; CNTK's block momentum",
       .reference = "doi:10.1109/ICASSP.2016.7472805",
       .sentence = "the change of the mean model is a step with momentum 1 - 1/P; "
                   "`--block-nesterov` is its other form",
       .recipe = each_its_own(BlockSettings{.block_momentum = kAuto}),
       .optimizer = "sgd"},
      {.name = "deepspark",
       .year = 2016,
       .citation = "Kim, Park, Jang, Yoon, DeepSpark: Spark-Based Deep Learning Supporting "
                   "Asynchronous Updates and Caffe Compatibility, 2016",
       .reference = "arXiv:1602.08191",
       .sentence = "as easgd; the elastic rate adapts to the decrease of the loss",
       .recipe = each_its_own(
           ElasticSettings{.local_steps = 4, .pace = WorkerPace::Async, .adapt_alpha = true}),
       .optimizer = "sgd",
       .eta_times = 2.5},
      {.name = "dl4j",
       .year = 2016,
       .citation = "Deeplearning4j Development Team, parameter averaging on Spark, 2016",
       .sentence = "models are averaged every 5 steps",
       .recipe = each_its_own(AverageSettings{.local_steps = 5})},
      {.name = "gosgd",
       .year = 2016,
       .citation = "Blot, Picard, Cord, Thome, Gossip Training for Deep Learning, 2016",
       .reference = "arXiv:1611.09726",
       .sentence = "after a step a worker sometimes sends its model to a random other one, which "
                   "mixes it in by weight; no worker waits",
       .recipe = each_its_own(GossipSettings{
           .pace = WorkerPace::Async, .topology = topology::Complete{}, .probability = 0.25}),
       .workers_min = 2},
      {.name = "sparknet",
       .aliases = {"local-sgd"},
       .year = 2016,
       .citation = "Moritz, Nishihara, Stoica, Jordan, SparkNet: Training Deep Networks in Spark, "
                   "ICLR 2016; local SGD: Stich, ICLR 2019",
       .reference = "arXiv:1511.06051",
       .sentence = "every worker trains alone for 10 steps, then all models are averaged",
       .recipe = each_its_own(AverageSettings{})},
      {.name = "tree-easgd",
       .year = 2016,
       .citation = "Zhang, Distributed Stochastic Optimization for Deep Learning, PhD thesis, New "
                   "York University 2016",
       .reference = "arXiv:1605.02216",
       .sentence = "models are sent up and down a tree and pull their receivers; the root's model "
                   "is the result",
       .recipe = each_its_own(TreeSettings{.local_steps = 4, .pace = WorkerPace::Async}),
       .optimizer = "sgd",
       .eta_times = 2},
      {.name = "d-psgd",
       .year = 2017,
       .citation = "Lian et al., Can Decentralized Algorithms Outperform Centralized Algorithms? A "
                   "Case Study for Decentralized Parallel Stochastic Gradient Descent, NIPS 2017",
       .reference = "arXiv:1705.09056",
       .sentence = "in each step a model becomes the mean with its neighbours on a ring, while its "
                   "gradient is computed",
       .recipe = each_its_own(NeighboursSettings{.local_steps = 1})},
      {.name = "ad-psgd",
       .year = 2018,
       .citation = "Lian, Zhang, Zhang, Liu, Asynchronous Decentralized Parallel Stochastic "
                   "Gradient Descent, ICML 2018",
       .reference = "arXiv:1710.06952",
       .sentence =
           "two neighbours on a ring average their models whenever one of them has finished a step",
       .recipe = each_its_own(PairsSettings{.local_steps = 1, .pace = WorkerPace::Async}),
       .workers_min = 2},
      {.name = "mpca-sgd",
       .year = 2018,
       .citation = "Langer, Hall, He, Rahayu, MPCA SGD - A Method for Distributed Training of Deep "
                   "Learning Models on Spark, IEEE TPDS 29(11), 2018",
       .reference = "doi:10.1109/TPDS.2018.2833074",
       .sentence = "workers learn the mean of all models one exchange late, while they train, and "
                   "are pulled to its extrapolation",
       .recipe = each_its_own(MasterSettings{
           .local_steps = 5, .pace = WorkerPace::Async, .penalty = 0.01, .extrapolate = 0.2})},
      {.name = "crossbow",
       .aliases = {"sma"},
       .year = 2019,
       .citation = "Koliousis, Watcharapichat, Weidlich, Mai, Costa, Pietzuch, Crossbow: Scaling "
                   "Deep Learning with Small Batch Sizes on Multi-GPU Servers, PVLDB 12(11), 2019",
       .reference = "arXiv:1901.02244",
       .sentence = "a worker's learners and a central model are pulled towards each other; "
                   "throughput decides the number of learners",
       .recipe = each_its_own(LearnersSettings{.local_steps = 1, .block_momentum = 0.9}),
       .optimizer = "momentum",
       .eta_times = 2},
      {.name = "diloco",
       .year = 2023,
       .citation = "Douillard et al., DiLoCo: Distributed Low-Communication Training of Language "
                   "Models, 2023",
       .reference = "arXiv:2311.08105",
       .sentence = "AdamW at each worker; every 100 steps the change of the mean model is a step "
                   "of SGD with Nesterov momentum",
       .recipe = each_its_own(BlockSettings{
           .local_steps = 100, .block_momentum = 0.9, .block_rate = 0.7, .block_nesterov = true}),
       .optimizer = "adamw"},
  };
}

}  // namespace shoal
