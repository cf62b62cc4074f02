// Shared by the settings of algorithms: common parameters, and the text forms of their values. The
// settings of an algorithm are a struct in its own header:
//
//   struct GossipSettings {
//     static constexpr std::string_view kName = "gossip";     // --algorithm gossip
//     static constexpr std::string_view kHelp = "...";
//     double probability = 0.1;                               // a field for each flag
//     static constexpr auto parameters() {                    // name, field, help, limits
//       return std::tuple{Parameter{"gossip", &GossipSettings::probability, "...", {0, 1}}};
//     }
//     bool operator==(const GossipSettings&) const = default;
//   };
//   std::unique_ptr<DecentralAlgorithm> make_algorithm(const GossipSettings&, ...);
//
// It may also declare its abilities: `kEncodes`, its messages can be encoded; `kSumsModels`, it
// sums models, by any form of encoded sums.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/choice.h"
#include "base/names.h"
#include "collective/topology.h"

namespace shoal {

class DecentralAlgorithm;
class Learner;
struct DecentralTerms;
struct Node;

enum class WorkerPace : std::uint8_t {
  Sync,   // all workers make the same number of steps
  Async,  // each at its own pace
};
inline constexpr auto kWorkerPaceNames =
    names<WorkerPace>({{WorkerPace::Sync, "sync"}, {WorkerPace::Async, "async"}});
constexpr const auto& enum_names(WorkerPace) { return kWorkerPaceNames; }

template <class Settings>
constexpr auto local_steps() {
  return Parameter{"local-steps", &Settings::local_steps,
                   "steps between two exchanges of a worker's model", Limits{1}};
}
template <class Settings>
constexpr auto overlap_steps() {
  return Parameter{"overlap-steps", &Settings::overlap_steps,
                   "steps that a worker makes during an exchange of its model"};
}
template <class Settings>
constexpr auto pace() {
  return Parameter{"pace", &Settings::pace,
                   "sync: all workers make the same number of steps; async: each at its own pace"};
}
template <class Settings>
constexpr auto topology_parameter() {
  return Parameter{"topology", &Settings::topology, "graph of the workers whose models may meet"};
}
template <class Settings>
constexpr auto alpha() {
  return Parameter{"alpha", &Settings::alpha,
                   "fraction of its distance to the center that a model moves; auto: by the number "
                   "of workers or learners",
                   Limits{0, 1, true}};
}
template <class Settings>
constexpr auto block_momentum() {
  return Parameter{"block-momentum", &Settings::block_momentum,
                   "momentum of the outer optimizer; auto: 1 - 1/P", Limits{0, 0.999, true}};
}

// The value for P workers.
double block_momentum(double asked, std::uint64_t workers);

}  // namespace shoal
