// Peering: how models meet that are trained apart, with a setting a field. What a system of the
// literature without a common optimizer differs in from another is here; decentral/ carries it out.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/choice.h"
#include "codec/encoding.h"
#include "collective/topology.h"

namespace shoal {

// The algorithm; each has a file in decentral/.
enum class Algorithm : std::uint8_t {
  Average,      // all models become their mean
  Block,        // the mean of all is a step of an optimizer above them
  Elastic,      // each model and a center pull at each other
  Neighbours,   // each model becomes a mean with those beside it, all in step
  Pairs,        // two models become their mean, whenever one of them wants
  Gossip,       // a model is sent to somebody, who mixes it in by weight
  Independent,  // at the end alone
  Scatter,      // a model is sent to several, each of whom becomes a mean with what has come
  Tree,         // a model is sent up and down a tree, and pulls at whoever receives it
  Learners,     // several models of a worker and a center pull at each other
  Master,       // each model hears of the mean of all while it trains, and is drawn to it
  Parts,        // of gradients: a different one to each of the others
  Stream,       // of gradients, to others, who may miss some
  Hogwild,      // threads of a worker share one; workers' are averaged
};
inline constexpr std::size_t kAlgorithms = 14;
std::string_view to_string(Algorithm algorithm);
Algorithm parse_algorithm(std::string_view name);  // an unknown one is a ConfigError

// Independent: how predictions of all models are put together; decentral/ensemble.h.
enum class Combine : std::uint8_t { None, Mean, Vote };

inline constexpr std::uint32_t kLearnersMost = 16;  // of a worker

struct Peering {
  Algorithm algorithm = Algorithm::Average;
  std::uint32_t tau = 10;           // steps between two meetings of a worker
  std::uint32_t overlap_steps = 0;  // steps that a worker makes while it meets others
  bool in_step = true;              // all make as many steps; else each at its own pace
  Topology topology{};              // of Neighbours, Pairs, Gossip
  double alpha = kAuto;             // Elastic: how far a model moves; auto: 0.9 / P
  double beta = kAuto;              // and the center; auto: as alpha
  double block_momentum = 0;        // Block: of the optimizer above
  double block_rate = 1;            // and its step size
  bool block_nesterov = false;      // it looks ahead
  double gossip = 0.1;              // chance that a model is sent after a step
  bool adapt_alpha = false;         // Elastic: it follows how a worker's loss falls
  std::uint32_t tau_down = 0;       // Tree: steps between two models to those below; 0: tau
  std::uint32_t learners = 0;       // Learners: of a worker; 0: as many as its throughput asks for
                                    // Hogwild: threads; 0: one
  double penalty = 0;               // Master: of the distance to it, in the cost
  double extrapolate = 0;           // how far its path is thought to go on
  std::uint32_t partitions = 0;     // Parts: of a gradient; 0: one for each of the others
  Combine combine = Combine::None;  // Independent: of predictions; none: the result is one model
  bool bagging = false;             // Independent: each draws its samples with replacement
  double drop_probability = 0;      // Stream: chance that a message is lost
  double mix_rate = kAuto;          // Neighbours, encoded: how far a model moves to those beside it

  bool operator==(const Peering&) const = default;
};

// Of so many workers.
double elastic_alpha(const Peering& peering, std::uint64_t workers);
double elastic_beta(const Peering& peering, std::uint64_t workers);
double block_momentum(const Peering& peering, std::uint64_t workers);
// Of models that are sent in this form.
double mix_rate(const Peering& peering, const Encoding& encoding);
std::uint64_t gradient_parts(const Peering& peering, std::uint64_t workers);

// ConfigError for a setting that no training can mean: which, its value, what is allowed.
void require_valid(const Peering& peering, std::uint64_t workers);

}  // namespace shoal
