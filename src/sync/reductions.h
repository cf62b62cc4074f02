// The reductions of a synchronous worker, and the choice of one for a view. All exist as long as
// the worker, because an exchange that was cancelled may read and write their memory until its view
// is retired.
#pragma once

#include "sync/apart_reduction.h"
#include "sync/everyone_reduction.h"
#include "sync/gradient_parts.h"
#include "sync/one_host_reduction.h"
#include "sync/owners_reduction.h"
#include "sync/priority_reduction.h"
#include "sync/root_reduction.h"

namespace shoal {

struct Reductions {
  GradientParts parts;
  EveryoneReduction everyone;
  PriorityReduction priority;
  OwnersReduction owners;
  OneHostReduction one_host;
  RootReduction root;
  ApartReduction apart;

  Reduction& of(Updater updater, bool by_priority, const View& view);
};

}  // namespace shoal
