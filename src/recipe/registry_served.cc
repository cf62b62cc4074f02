// Systems with parameter servers.
#include "recipe/registry_families.h"

namespace shoal {

namespace {

Recipe served(const ParameterServerOptions& ps) { return Served{.ps = ps}; }

}  // namespace

std::vector<System> served_systems() {
  return {
      {.name = "asgd",
       .aliases = {"dmtk", "dianne", "tensorflow-async", "mxnet-async"},
       .year = 2009,
       .citation = "Langford, Smola, Zinkevich, Slow Learners are Fast, NIPS 2009; as in DMTK "
                   "(Multiverso, 2015), DIANNE (De Coninck et al. 2016), TensorFlow (Abadi et al. "
                   "2016) and MXNet's dist_async (Chen et al. 2015)",
       .reference = "arXiv:0911.0491",
       .sentence = "the server applies each gradient when it arrives; no worker waits",
       .recipe = served({.consistency = consistency::Async{}, .servers = 1}),
       .optimizer = "sgd"},
      {.name = "downpour",
       .aliases = {"distbelief"},
       .year = 2012,
       .citation = "Dean et al., Large Scale Distributed Deep Networks, NIPS 2012 (DistBelief)",
       .sentence = "workers push and fetch every few steps, update their own copy in between, and "
                   "may come and go; AdaGrad at the servers; one worker begins alone",
       .recipe = served({.consistency = consistency::Async{},
                         .servers = 1,
                         .push_every = 2,
                         .fetch = fetch::Every{2},
                         .warm_start = 20}),
       .optimizer = "adagrad"},
      {.name = "ssp",
       .year = 2013,
       .citation = "Ho et al., More Effective Distributed ML via a Stale Synchronous Parallel "
                   "Parameter Server, NIPS 2013",
       .sentence = "a worker waits while it is more than s steps ahead of the slowest; it reads "
                   "only when its parameters are older than that",
       .recipe =
           served({.consistency = consistency::Bounded(3), .servers = 1, .fetch = fetch::Stale{}}),
       .optimizer = "sgd"},
      {.name = "parameter-server",
       .year = 2014,
       .citation =
           "Li et al., Scaling Distributed Machine Learning with the Parameter Server, OSDI "
           "2014",
       .sentence = "ranges are pushed and pulled under a bounded delay; each range is on a chain "
                   "of two servers; `--filter` and `--compress` are its filters; with `--groups` "
                   "one worker of a group communicates for it",
       .recipe = served({.consistency = consistency::Bounded(4), .servers = 2, .copies = 2}),
       .optimizer = "sgd"},
      {.name = "project-adam",
       .year = 2014,
       .citation =
           "Chilimbi et al., Project Adam: Building an Efficient and Scalable Deep Learning "
           "Training System, OSDI 2014",
       .sentence = "asynchronous; for fully connected layers, workers push activations and errors, "
                   "and the servers, in chains of two, compute the gradient",
       .recipe = served({.consistency = consistency::Async{},
                         .servers = 2,
                         .copies = 2,
                         .push = PushForm::Factors}),
       .optimizer = "sgd"},
      {.name = "bosen",
       .year = 2015,
       .citation = "Wei et al., Managed Communication and Consistency for Fast Data-Parallel "
                   "Iterative Analytics, SoCC 2015 (Bosen)",
       .reference = "doi:10.1145/2806777.2806778",
       .sentence = "as petuum; a worker pushes within a budget of bytes, the largest relative "
                   "changes first",
       .recipe = served({.consistency = consistency::Bounded(3),
                         .servers = 1,
                         .fetch = fetch::Eager{},
                         .filter = filter::Magnitude{.rate = 1e7}}),
       .optimizer = "sgd"},
      {.name = "mxnet",
       .year = 2015,
       .citation = "Chen et al., MXNet: A Flexible and Efficient Machine Learning Library for "
                   "Heterogeneous Distributed Systems, LearningSys at NIPS 2015",
       .reference = "arXiv:1512.01274",
       .sentence = "the workers of a host sum their gradients, and push and read as one; this is "
                   "its dist_sync, `--consistency async` its dist_async",
       .recipe = served({.servers = 1, .groups = groups::Host{}})},
      {.name = "petuum",
       .aliases = {"essp"},
       .year = 2015,
       .citation = "Dai et al., High-Performance Distributed ML at Scale through Parameter Server "
                   "Consistency Models, AAAI 2015",
       .reference = "arXiv:1410.8043",
       .sentence = "as ssp; servers send parameters as soon as the slowest worker has advanced",
       .recipe =
           served({.consistency = consistency::Bounded(3), .servers = 1, .fetch = fetch::Eager{}}),
       .optimizer = "sgd"},
      {.name = "singa",
       .year = 2015,
       .citation = "Ooi et al., SINGA: A Distributed Deep Learning Platform, ACM Multimedia 2015",
       .reference = "doi:10.1145/2733373.2807410",
       .sentence = "a server inside each worker, synchronous as all-reduce; `--consistency async` "
                   "is its other mode, `--servers` separates the servers",
       .recipe = served({})},
      {.name = "value-bound",
       .year = 2015,
       .citation = "Wei et al., Managed Communication and Consistency for Fast Data-Parallel "
                   "Iterative Analytics, SoCC 2015; Dai et al. 2015 (VAP)",
       .reference = "doi:10.1145/2806777.2806778",
       .sentence =
           "a push waits while the change that some worker has not seen would reach a bound",
       .recipe = served({.consistency = consistency::Value(0.1), .servers = 1}),
       .optimizer = "sgd"},
      {.name = "async-momentum",
       .year = 2016,
       .citation = "Mitliagkas, Zhang, Hadjis, Re, Asynchrony Begets Momentum, with an Application "
                   "to Deep Learning, Allerton 2016",
       .reference = "arXiv:1605.09774",
       .sentence = "asynchronous, with the momentum reduced by the amount that delays add",
       .recipe =
           served({.consistency = consistency::Async{}, .servers = 1, .lower_momentum = true}),
       .optimizer = "momentum"},
      {.name = "hierarchical",
       .year = 2016,
       .citation =
           "leaf servers: Gupta, Zhang, Wang, ICDM 2016 (Rudra); proxies as write-back "
           "caches: Li et al., OSDI 2014, Chen et al. 2015; surveyed by Ben-Nun, Hoefler, "
           "Demystifying Parallel and Distributed Deep Learning, ACM Computing Surveys 2019",
       .reference = "arXiv:1802.09941",
       .sentence = "one worker of each host serves the others, which do not wait for each other; "
                   "it writes back to the servers under a bounded delay",
       .recipe = served({.consistency = consistency::Bounded(1),
                         .servers = 1,
                         .groups = groups::Host{},
                         .write_back = 4}),
       .optimizer = "sgd"},
      {.name = "reject-stale",
       .year = 2016,
       .citation = "the simplest answer to late gradients; compared with others in Chen et al., "
                   "Revisiting Distributed Synchronous SGD, 2016",
       .reference = "arXiv:1604.00981",
       .sentence = "gradients with too large a staleness are dropped",
       .recipe = served({.consistency = consistency::Reject(4), .servers = 1}),
       .optimizer = "sgd"},
      {.name = "rudra",
       .year = 2016,
       .citation = "Gupta, Zhang, Wang, Model Accuracy and Runtime Tradeoff in Distributed Deep "
                   "Learning: A Systematic Study, ICDM 2016",
       .reference = "arXiv:1509.04210",
       .sentence =
           "the server updates after every P/n gradients, with a learning rate n times smaller; "
           "`--consistency synchronous` is its hardsync, `--groups` its tree of servers",
       .recipe = served({.consistency = consistency::Softsync(2), .servers = 1}),
       .optimizer = "sgd"},
      {.name = "asp",
       .aliases = {"gaia"},
       .year = 2017,
       .citation = "Hsieh et al., Gaia: Geo-Distributed Machine Learning Approaching LAN Speeds, "
                   "NSDI 2017 (approximate synchronous parallel)",
       .sentence = "the workers of a host are a site; sites exchange only accumulated updates that "
                   "are significant relative to their parameter, with a shrinking threshold; "
                   "clocks stay close, and a read waits for announced updates",
       .recipe = served({.consistency = consistency::Bounded(3),
                         .servers = 1,
                         .groups = groups::Host{},
                         .filter = filter::Significant{0.01},
                         .barrier = true}),
       .optimizer = "sgd"},
      {.name = "consgd",
       .year = 2017,
       .citation =
           "Jiang, Cui, Zhang, Yu, Heterogeneity-aware Distributed Parameter Servers, SIGMOD "
           "2017",
       .reference = "doi:10.1145/3035918.3035933",
       .sentence = "as ssp; every push has weight 1/P",
       .recipe =
           served({.consistency = consistency::Bounded(3), .servers = 1, .weigh = Weigh::Workers}),
       .optimizer = "sgd"},
      {.name = "dc-asgd",
       .year = 2017,
       .citation =
           "Zheng et al., Asynchronous Stochastic Gradient Descent with Delay Compensation, "
           "ICML 2017",
       .reference = "arXiv:1609.08326",
       .sentence = "asynchronous; a late gradient is corrected to first order, with the outer "
                   "product of the gradient in place of the Hessian",
       .recipe = served({.consistency = consistency::Async{},
                         .servers = 1,
                         .compensation = compensation::Constant{0.04}}),
       .optimizer = "sgd"},
      {.name = "dynsgd",
       .year = 2017,
       .citation =
           "Jiang, Cui, Zhang, Yu, Heterogeneity-aware Distributed Parameter Servers, SIGMOD "
           "2017",
       .reference = "doi:10.1145/3035918.3035933",
       .sentence = "as ssp; a push that is d - 1 updates late has weight 1/d",
       .recipe = served(
           {.consistency = consistency::Bounded(3), .servers = 1, .weigh = Weigh::Staleness}),
       .optimizer = "sgd"},
      {.name = "mxnet-mpi",
       .year = 2018,
       .citation = "Mamidala, Kollias, Ward, Artico, MXNET-MPI: Embedding MPI Parallelism in "
                   "Parameter Server Task Model for Scaling Deep Learning, 2018",
       .reference = "arXiv:1801.03855",
       .sentence = "groups of workers: synchronous within a group, asynchronous between groups",
       .recipe =
           served({.consistency = consistency::Async{}, .servers = 1, .groups = groups::Sized{2}}),
       .optimizer = "sgd",
       .workers_min = 2},
  };
}

}  // namespace shoal
