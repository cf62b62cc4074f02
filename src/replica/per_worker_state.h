// State that belongs to one worker: its model, if every worker has its own, or the residual of an
// encoding. A checkpoint keeps it for every worker, and each worker gets its own back, by its node
// number.
//
//   save:     all collect(..);    rank 0: checkpoints.save(replica);   replica.kept.clear()
//   resume:   one: checkpoints.load(replica);   all give_back(..);   replica.kept.clear()
//
// A strategy builds its list of arrays for each call, with the same names in the same order on all
// members.
//
// Cost: a save sends all arrays once to rank 0, which holds them until they are written; on one
//   host it reads them in place. A resume sends every array once to its worker.
// Failure: an interrupted transfer is left out. State of workers that are gone is skipped; new
//   workers get nothing, and keep what they have.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collective/dissemination.h"
#include "collective/group.h"
#include "replica/replica.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

// Whether every worker has its own, or all have the same; then only rank 0's is saved, for all.
enum class Owner : std::uint8_t { Each, All };

struct PerWorkerArray {
  std::string name;
  Range range;
  Owner owner = Owner::Each;
  bool came = false;  // true after it was restored
};

inline constexpr std::size_t kOwnArraysMost = 64;  // per member

// Lives until the generation is retired.
class PerWorkerState {
 public:
  // Collects all members' arrays into `kept` at rank 0. On other members it is done when rank 0 has
  // cleared `kept`; until then no range may change. Takes one operation, as give_back does.
  Task<void> collect(const Group& group, std::vector<PerWorkerArray> arrays,
                     std::uint64_t operation, std::vector<KeptArray>& kept);
  // Restores arrays from `kept` of the source, which outlives this object, to the ranks marked in
  // `to`, and sets `came` in each restored array. Throws DataError for an array of another size.
  Task<void> give_back(const Group& group, Rank source, const std::vector<bool>& to,
                       std::vector<PerWorkerArray>& arrays, std::uint64_t operation,
                       const std::vector<KeptArray>& kept);

 private:
  Task<void> give(const Group& group, Rank to, const std::vector<PerWorkerArray>& arrays,
                  std::uint64_t operation, const std::vector<KeptArray>& kept);
  Task<void> take(const Group& group, Rank source, std::vector<PerWorkerArray>& arrays,
                  std::uint64_t operation);

  Gathering gathering_;
  std::vector<std::uint64_t> bits_;  // by rank: the arrays that will arrive
};

}  // namespace shoal
