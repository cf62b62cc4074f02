// FactorSums: synchronous steps that exchange the factors of fully connected layers in place of
// their gradients (sufficient factor broadcasting). Xie, Kim, Zhou, Ho, Kumar, Yu, Xing,
// "Lighter-communication distributed machine learning via sufficient factor broadcasting", UAI
// 2016, arXiv:1409.5705; per layer where that is less: Zhang et al., "Poseidon", USENIX ATC 2017,
// arXiv:1706.03292.
//
//   of a weight of M x N': send the factors of the own gradient to all others;
//                          g <- sum over all members, by rank, of error^T x input
//   poseidon: so if 2 B (P-1) (M + N') <= 2 M N' (P + S - 2) / S, else all-reduce
//
// Symbols: P workers, B samples of the largest share, S servers. Fully connected layers are those
//   whose bucket is one matrix (learner/torch); without factors their gradients are all-reduced.
// Cost a layer and worker: B (P-1) (M + N') values, and P B M N' multiplications.
// Deviation: an all-reduce replaces Poseidon's servers; in it each worker is the server of a part:
//   S = P.
// Failure: as any exchange of a step.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "collective/group.h"
#include "learner/learner.h"
#include "replica/replica.h"
#include "runtime/node.h"
#include "runtime/range.h"
#include "runtime/task.h"
#include "sync/dealing.h"
#include "sync/encoded_sums.h"
#include "sync/sync_context.h"

namespace shoal {

// Poseidon's rule: factors of a layer of M x N among P workers of B samples each take at most as
// many bytes as its gradient through S servers.
bool poseidon_broadcasts(std::uint64_t B, std::uint64_t P, std::uint64_t S, std::uint64_t M,
                         std::uint64_t N);

class FactorSums {
 public:
  FactorSums(Node& node, const Learner& learner, Replica& replica, const SyncContext& context,
             const Dealing& dealing, const EncodedSums& encoded)
      : node_(node),
        learner_(learner),
        replica_(replica),
        context_(context),
        dealing_(dealing),
        encoded_(encoded) {}

  // Whether the bucket is sent as factors, the same on all members.
  bool takes(const Group& group, const Ready& bucket) const;
  // Computes the sum over all members, on all of them.
  Task<void> all_reduce(const Group& group, const Ready& bucket, std::uint64_t operation);

 private:
  Task<Range> pack_own(const Group& group, const Ready& bucket);
  Task<void> add_formed(ConstBuf message, Range g, NodeId from);

  Node& node_;
  const Learner& learner_;
  Replica& replica_;
  const SyncContext& context_;
  const Dealing& dealing_;
  const EncodedSums& encoded_;
  std::deque<std::optional<Arena>> sent_;  // by bucket
};

}  // namespace shoal
