#include "membership/election.h"

#include <utility>

namespace shoal {

Task<std::optional<Office>> run_for_office(Store& store, JobKeys keys, Lead lead, Duration lease,
                                           Revision over, std::optional<Revision> view) {
  Office office;
  // The lease is for the case that no process is left that sees the coordinator die.
  office.lease = co_await store.grant(lease);
  Transaction take;
  take.when.push_back({.key = keys.coordinator, .modified = over});
  if (view) take.when.push_back({.key = keys.view, .modified = *view});
  take.then.push_back({.key = keys.coordinator, .value = to_json(lead), .lease = office.lease});
  const Committed committed = co_await store.commit(std::move(take));
  std::optional<Office> won;
  if (committed.succeeded) {
    office.lead = std::move(lead);
    office.revision = committed.revision;
    won = std::move(office);
  } else {
    co_await store.revoke(office.lease);
  }
  co_return won;
}

}  // namespace shoal
