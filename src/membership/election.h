// The election: the coordinator is the last process that wrote the store's key.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/types.h"
#include "membership/records.h"
#include "membership/store.h"
#include "runtime/task.h"

namespace shoal {

// The holder of the office before, if it did not resign.
struct Predecessor {
  std::uint64_t instance = 0;  // its process; 0: none
  bool died = false;           // its process died; otherwise:
  Duration silence{};          // it was silent for this long
};

// The office of the winner. All its commits are conditional on `revision`, so they have no effect
// once another process has the office.
struct Office {
  Lead lead;
  Revision revision = 0;  // of the key
  LeaseId lease = kNoLease;
  Predecessor before;
};

// One attempt to take the office from `over` (0: no holder). If `view` is given, the view must not
// have changed since: the candidate has read in it that it is a member.
Task<std::optional<Office>> run_for_office(Store& store, JobKeys keys, Lead lead, Duration lease,
                                           Revision over, std::optional<Revision> view);

}  // namespace shoal
