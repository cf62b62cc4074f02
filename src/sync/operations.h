// Numbers of the collective operations in one view of synchronous training. The tags of an
// operation contain its number (collective/group.h), so no two operations of a view may share one.
//
// A number has two parts: above bit 44 the kind, below it a count within the kind. Most kinds have
// a fixed number of operations in each step and count them through the steps.
#pragma once

#include <cstdint>

#include "base/types.h"

namespace shoal {

inline constexpr std::uint64_t kBucketsMax = 4096;  // of a gradient

struct OperationKind {
  std::uint64_t number = 0;
  std::uint64_t each = 1;  // operations in a step
};

namespace operations {

inline constexpr std::uint64_t kBucketEach = 8;  // operations of a bucket

inline constexpr OperationKind kBuckets{0, kBucketsMax* kBucketEach};
inline constexpr OperationKind kNotes{1};     // notes of members to each other at the end of a step
inline constexpr OperationKind kBuffers{2};   // the mean of the model's buffers
inline constexpr OperationKind kNorms{3, 4};  // one for each round of the rule
inline constexpr OperationKind kDone{4};      // a worker's gradient is complete
inline constexpr OperationKind kDecision{5};  // which gradients count
inline constexpr OperationKind kCounts{6};    // samples of incomplete gradients
inline constexpr OperationKind kLinks{7};     // speeds of the links, once a view
inline constexpr OperationKind kInPass{8, 4096};    // sums in the middle of a pass (batch norm)
inline constexpr OperationKind kGradients{10};      // gradients that peers read
inline constexpr OperationKind kParts{11, 8};       // updated parts that peers read, by array
inline constexpr OperationKind kChoices{12, 3};     // measurements for the choice of encodings
inline constexpr OperationKind kPerWorker{13, 2};   // state of each worker: saved, restored
inline constexpr OperationKind kEvaluation{14, 2};  // evaluations before the step
inline constexpr OperationKind kView{15, 3};        // begin and end of a view

}  // namespace operations

inline constexpr unsigned kOperationKindShift = 44;

constexpr std::uint64_t operation(OperationKind kind, Step t, std::uint64_t i = 0) {
  return (kind.number << kOperationKindShift) + t.value() * kind.each + i;
}

// For kinds that do not count steps.
constexpr std::uint64_t operation(OperationKind kind, std::uint64_t i = 0) {
  return operation(kind, Step(0), i);
}

// The operations of a bucket.
enum class BucketOperation : std::uint64_t {
  Reduce = 0,    // the sum; an encoding with two rounds takes the next number as well
  Spread = 1,    // the updated state; one for each array, parameters first
  GatherSum = 7  // the whole sum on all members, for norms
};

constexpr std::uint64_t operation(Step t, std::uint32_t bucket, BucketOperation what,
                                  std::uint64_t i = 0) {
  return operation(operations::kBuckets, t,
                   bucket * operations::kBucketEach + static_cast<std::uint64_t>(what) + i);
}

// Operations of a view outside its steps.
inline constexpr std::uint64_t kStandingsOperation = operation(operations::kView, 0);
inline constexpr std::uint64_t kTransferOperation = operation(operations::kView, 1);
inline constexpr std::uint64_t kBarrierOperation = operation(operations::kView, 2);

}  // namespace shoal
