#include "membership/store.h"

#include <set>

#include "base/check.h"

namespace shoal {

void check_valid(const Transaction& transaction) {
  std::set<std::string_view> changed;
  for (const Condition& condition : transaction.when)
    SHOAL_CHECK(!condition.key.empty(), "a condition of a transaction has an empty key");
  for (const Change& change : transaction.then) {
    SHOAL_CHECK(!change.key.empty(), "a change of a transaction has an empty key");
    SHOAL_CHECK(changed.insert(change.key).second, "a transaction changes '{}' twice", change.key);
    SHOAL_CHECK(change.value || change.lease == kNoLease, "'{}' is removed, and has a lease",
                change.key);
  }
}

}  // namespace shoal
