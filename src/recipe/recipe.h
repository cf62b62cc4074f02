// Recipe: how one training job is spread over its workers. A plain value with an axis a field; a
// system of the literature is a recipe with a name (registry.h).
#pragma once

#include <cstdint>

#include "collective/exchange.h"
#include "encoded/encode.h"
#include "learner/normalization.h"
#include "ps/options.h"
#include "recipe/peering.h"

namespace shoal {

// Who applies the update, and so who needs the whole sum of the gradients.
enum class Updater : std::uint8_t {
  Everyone,   // all-reduce; each worker updates its own copy of everything
  Owners,     // reduce-scatter; each worker updates its part, and all copy the parts of the others
  Root,       // reduce to rank 0, which updates everything; all copy it from there
  Servers,    // workers push gradients to servers and pull parameters, each at its own pace
  Apart,      // nothing is summed: each updates its own, and meets the others once a step. It shows
              // what an exchange costs, and is no way to train one model
  Decentral,  // everyone has a model and an optimizer of its own, and the models meet
};

// Whose gradients of a step count.
enum class StragglerPolicy : std::uint8_t {
  All,
  First,      // those of all but `backups` workers: the first to come; later ones are dropped
  Fastest,    // when the first has ended its share all give what they have so far
  Redundant,  // every share is computed by two workers, and the first of each two counts
};

// What stays as it is when workers come and go.
enum class KeepBatch : std::uint8_t { Global, Worker };

enum class Balance : std::uint8_t { Even, Auto };

struct Recipe {
  Updater updater = Updater::Everyone;
  Exchange exchange = Exchange::Ring;
  bool overlap = true;  // buckets leave as backward produces them; else all at its end
  // What the next step needs first goes first, in chunks, and that step begins meanwhile
  // (sync_priority.cc).
  bool priority = false;
  StragglerPolicy stragglers = StragglerPolicy::All;
  std::uint32_t backups = 0;     // of StragglerPolicy::First
  double epoch_fraction = 1;     // of its samples, after which an epoch ends; the rest is dropped
  std::uint32_t accumulate = 1;  // passes over as many smaller portions before an exchange
  Balance balance = Balance::Even;
  KeepBatch keep = KeepBatch::Global;
  // Above 0: the gradient is that of as many logical shards, summed in one fixed order, so that the
  // result does not depend on the number of workers.
  std::uint32_t shards = 0;
  BatchNorm batch_norm{};
  Encode encode{};
  ParameterServerOptions ps{};  // of Updater::Servers
  Peering peering{};            // of Updater::Decentral

  bool operator==(const Recipe&) const = default;
};

inline bool encodes(const Recipe& recipe) { return encodes(recipe.encode); }

// Each worker has batches of its own, and nothing is exchanged bucket by bucket.
inline bool by_worker(const Recipe& recipe) {
  return recipe.updater == Updater::Servers || recipe.updater == Updater::Decentral;
}

}  // namespace shoal
