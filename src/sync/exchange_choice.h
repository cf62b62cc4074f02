// ExchangeChoice: chooses the settings of the exchange that the recipe leaves open, by measurements
// of links and codecs, the same on all members:
//
//   --exchange auto   the cheapest all-reduce for a range of that size
//   --encode auto     an encoding for each piece of the gradient, or none; chosen anew when steps
//                     take much longer or shorter than before
#pragma once

#include <optional>
#include <string>

#include "collective/cost.h"
#include "collective/dissemination.h"
#include "collective/exchange.h"
#include "collective/group.h"
#include "collective/links.h"
#include "learner/learner.h"
#include "replica/replica.h"
#include "runtime/node.h"
#include "runtime/task.h"
#include "sync/encoded_sums.h"
#include "sync/link_watch.h"
#include "sync/sync_context.h"

namespace shoal {

class ExchangeChoice {
 public:
  ExchangeChoice(Node& node, const Learner& learner, const Replica& replica,
                 const SyncContext& context, EncodedSums& encoded)
      : node_(node), learner_(learner), replica_(replica), context_(context), encoded_(encoded) {}

  // Returns the choice and its reason; empty: the recipe leaves nothing open. `in_chunks`:
  // gradients were exchanged in chunks so far. `anew`: measure the links again.
  Task<std::string> choose(const Group& group, bool in_chunks, bool anew);
  Exchange of(const Group& group, Bytes size) const;
  Updater updater() const;
  void took(Duration longest_step);
  bool links_changed() const { return watch_.changed(); }

 private:
  Task<std::string> choose_encodings(const Group& group, bool anew);

  Node& node_;
  const Learner& learner_;
  const Replica& replica_;
  const SyncContext& context_;
  EncodedSums& encoded_;
  std::optional<LinkRoom> room_;
  CostModel costs_;
  Gathering gathering_;
  LinkWatch watch_;
};

}  // namespace shoal
