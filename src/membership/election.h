// Who coordinates: whoever wrote the store's key last, as long as nobody else has.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/types.h"
#include "membership/records.h"
#include "membership/store.h"
#include "runtime/task.h"

namespace shoal {

// Who had the office before, where it did not give it up itself.
struct Predecessor {
  std::uint64_t instance = 0;  // its process; 0: none
  bool died = false;           // that process; else:
  Duration silence{};          // nothing was heard of it for so long
};

// What the winner has. Everything it commits is conditional on `revision`: once somebody else has
// the office, nothing of it counts any more.
struct Office {
  Lead lead;
  Revision revision = 0;  // of the key
  LeaseId lease = kNoLease;
  Predecessor before;
};

// One attempt to take the office from whoever has it by `over` (0: nobody). Where `view` is given,
// the view must not have changed since: the candidate has read in it that it is a member.
Task<std::optional<Office>> run_for_office(Store& store, JobKeys keys, Lead lead, Duration lease,
                                           Revision over, std::optional<Revision> view);

}  // namespace shoal
