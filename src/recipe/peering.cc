#include "recipe/peering.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/error.h"
#include "base/nearest.h"

namespace shoal {
namespace {

constexpr std::array<std::string_view, kAlgorithms> kAlgorithmNames = {
    "average", "block", "elastic",  "neighbours", "pairs", "gossip", "independent",
    "scatter", "tree",  "learners", "master",     "parts", "stream", "hogwild"};

constexpr double kPartitionsMost = 256;  // gradients of as many steps are kept

void require_within(std::string_view flag, double value, double low, double high) {
  if (value >= low && value <= high) return;
  throw ConfigError(fmt::format("--{} {}: it lies between {} and {}", flag, value, low, high));
}

}  // namespace

std::string_view to_string(Algorithm algorithm) {
  return kAlgorithmNames[static_cast<std::size_t>(algorithm)];
}

Algorithm parse_algorithm(std::string_view name) {
  const auto* const found = std::ranges::find(kAlgorithmNames, name);
  if (found == kAlgorithmNames.end()) {
    const std::vector<std::string> names(kAlgorithmNames.begin(), kAlgorithmNames.end());
    throw ConfigError(
        fmt::format("--algorithm {}: this is not known. {}", name, suggest(name, names)));
  }
  return static_cast<Algorithm>(found - kAlgorithmNames.begin());
}

double elastic_alpha(const Peering& peering, std::uint64_t workers) {
  if (peering.alpha >= 0) return peering.alpha;
  // In a tree the number of those that a model meets does not grow with the number of all.
  return 0.9 / (peering.algorithm == Algorithm::Tree ? 3 : static_cast<double>(workers));
}

double elastic_beta(const Peering& peering, std::uint64_t workers) {
  return peering.beta < 0 ? elastic_alpha(peering, workers) : peering.beta;
}

double block_momentum(const Peering& peering, std::uint64_t workers) {
  return peering.block_momentum < 0 ? 1 - 1 / static_cast<double>(workers) : peering.block_momentum;
}

double mix_rate(const Peering& peering, const Encoding& encoding) {
  if (peering.mix_rate >= 0) return peering.mix_rate;
  return traits(encoding).mix_rate;
}

std::uint64_t gradient_parts(const Peering& peering, std::uint64_t workers) {
  if (peering.partitions > 0) return peering.partitions;
  return workers > 2 ? workers - 1 : 1;
}

void require_valid(const Peering& peering, std::uint64_t workers) {
  require_within("alpha", elastic_alpha(peering, workers), 0, 1);
  const double beta = elastic_beta(peering, workers);
  require_within("center-rate", beta, 0, 1);
  if (peering.algorithm == Algorithm::Elastic && beta * static_cast<double>(workers) > 1)
    throw ConfigError(
        fmt::format("--center-rate {} with {} workers: together they would move the center past "
                    "themselves; take at most {}",
                    beta, workers, 1 / static_cast<double>(workers)));
  require_within("block-momentum", block_momentum(peering, workers), 0, 0.999);
  require_within("block-rate", peering.block_rate, 0, 10);
  require_within("gossip", peering.gossip, 0, 1);
  require_within("learners", peering.learners, 0, kLearnersMost);
  require_within("penalty", peering.penalty, 0, 10);
  require_within("extrapolate", peering.extrapolate, 0, 1);
  require_within("partitions", peering.partitions, 0, kPartitionsMost);
  require_within("drop-probability", peering.drop_probability, 0, 1);
  require_within("mix-rate", peering.mix_rate < 0 ? 1 : peering.mix_rate, 0, 1);
  require_possible(peering.topology, workers);
}

}  // namespace shoal
