// What a worker has that no other does: its model where models are trained apart, or what an
// encoding still owes. A checkpoint keeps it for every worker, and each gets its own back, by the
// number of its node.
//
//   save:     all collect(..);    rank 0: checkpoints.save(replica);   replica.kept.clear()
//   resume:   one: checkpoints.load(replica);   all give_back(..);   replica.kept.clear()
//
// A strategy lists its arrays anew each time, with the same names in the same order on all members.
//
// Cost: of a save, all arrays once to rank 0, which holds them until they are written; on one host
//   they are read where they lie. Of a resume, once to each that it is for.
// Failure: what is cut off is left out. Workers that are not there any more are passed over; those
//   that are new get nothing, and keep what they have.
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

// Whether it is each worker's, or the same on all: then rank 0's is saved, for everybody.
enum class Owner : std::uint8_t { Each, All };

struct PerWorkerArray {
  std::string name;
  Range range;
  Owner owner = Owner::Each;
  bool came = false;  // it was given back
};

inline constexpr std::size_t kOwnArraysMost = 64;  // of a member

// Lives until the generation is retired.
class PerWorkerState {
 public:
  // Into `kept` at rank 0. Elsewhere it is done when rank 0 has cleared that, and no range may be
  // changed before. Takes one operation, as give_back does.
  Task<void> collect(const Group& group, std::vector<PerWorkerArray> arrays,
                     std::uint64_t operation, std::vector<KeptArray>& kept);
  // From `kept` of the source, which lives as long as this, to those marked, by rank: `came` says
  // which have come. Throws DataError for one of another size.
  Task<void> give_back(const Group& group, Rank source, const std::vector<bool>& to,
                       std::vector<PerWorkerArray>& arrays, std::uint64_t operation,
                       const std::vector<KeptArray>& kept);

 private:
  Task<void> give(const Group& group, Rank to, const std::vector<PerWorkerArray>& arrays,
                  std::uint64_t operation, const std::vector<KeptArray>& kept);
  Task<void> take(const Group& group, Rank source, std::vector<PerWorkerArray>& arrays,
                  std::uint64_t operation);

  Gathering gathering_;
  std::vector<std::uint64_t> bits_;  // by rank: which arrays come
};

}  // namespace shoal
