// PartialPush: a worker's accumulated gradient, of which a filter chooses the elements that are
// pushed now. Wei et al., "Managed Communication and Consistency for Fast Data-Parallel Iterative
// Analytics", SoCC 2015 (Bosen); Hsieh et al., "Gaia", NSDI 2017 (ASP); filters of Li et al.,
// "Parameter Server", OSDI 2014.
//
//   at a push:  G <- G + g;  the filter chooses elements of G
//               send them to their shards, each as a part (ps/pushed_part.h);  they become 0 in G
//   at a read:  w <- w of the servers - eta G / B: a worker sees its own updates
//   after the last share of an epoch: push the rest of G, as the budget allows
//
// Symbols: G the elements that wait, g the gradient of this push, B its samples, v threshold, t
// clock.
// Cost a push: N additions and comparisons; of k elements 2k words and 4 for each shard.
// Deviations: clocks advance with every push, so that a bound of consistency.h limits pushes and
//   not the elements that wait. Bosen sends whenever the network is idle; here a push may spend the
//   budget accumulated since the last one. The budget limits pushes: reads are whole, and pushes
//   repeated after the loss of a server are not counted. A site of Gaia is a group here
//   (ParameterServerOptions::groups), whose leader has this object; servers between the sites
//   replace the copy of the model in each. Its mirror clock is `bounded:s`; its selective barrier
//   lets a read wait for the pushes that were announced before it
//   (ParameterServerOptions::barrier), as a read is of all keys.
// Failure: elements that wait are lost with their worker. Their shares were not settled, and count
//   as partial then.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/types.h"
#include "ps/filter.h"
#include "ps/options.h"
#include "ps/pushed_part.h"
#include "ps/shard_map.h"
#include "runtime/node.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

class PartialPush {
 public:
  // `mean`: a server divides what is pushed by the samples of the push.
  PartialPush(Node& node, const ParameterServerOptions& ps, const std::vector<ShardCut>& cuts,
              Substance substance, bool mean);

  // Adds the gradient of all parameters, a sum over `samples`, and rescales the waiting elements to
  // a push of that many samples.
  Task<void> add(Range g, std::uint64_t samples);

  struct Now {
    Range w;         // all parameters
    double eta = 0;  // a step's
    std::uint64_t t = 1;
    bool last = false;  // pushes all that the budget allows; waits until it allows something
  };
  // Chooses and packs elements. Their bytes are spent when it returns.
  Task<void> choose(Now now);

  // The part of a shard in the last choice; empty without elements.
  Range packed(std::uint32_t shard) const { return outgoing_[shard].packed; }
  // The same with its keys, for a server that does not know them.
  Task<Range> packed_with_keys(std::uint32_t shard);

  Range waiting(std::uint32_t shard) { return sum_.range(cuts_[shard].at, cuts_[shard].n); }
  bool holds_back() const { return left_ > 0; }
  std::uint64_t samples() const { return samples_; }  // of the last push

 private:
  struct Outgoing {
    Keys keys;
    std::vector<float> values;
    Keys sent;  // the list that the server has, if it is still the same one
    std::optional<Arena> room;
    Range packed;
  };
  std::uint64_t allowed(Bytes budget) const;  // elements
  void select(const Now& now, std::uint64_t most);
  void take(std::span<const std::uint32_t> chosen);
  void pack(std::uint32_t shard, bool known);
  void pack_phantom(std::uint64_t most);

  Node& node_;
  const ParameterServerOptions& serving_;
  const std::vector<ShardCut>& cuts_;
  bool mean_;
  Arena sum_;  // G
  std::uint64_t samples_ = 0;
  std::uint64_t left_ = 0;    // elements of G that are not 0
  std::uint64_t next_ = 0;    // where Fifo continues
  std::uint32_t pushes_ = 0;  // the numbers of lists
  std::optional<Budget> budget_;
  std::vector<Outgoing> outgoing_;  // by shard
};

}  // namespace shoal
