// Numbers of operations: no two of a view are the same.
#include "sync/operations.h"

#include <gtest/gtest.h>

#include <set>

namespace shoal {
namespace {

TEST(Operations, KindsDoNotMeet) {
  using namespace operations;
  std::set<std::uint64_t> seen;
  std::size_t all = 0;
  for (const OperationKind kind :
       {kNotes, kBuffers, kNorms, kDone, kDecision, kCounts, kLinks, kInPass, kGradients, kParts,
        kChoices, kPerWorker, kEvaluation, kView})
    for (std::uint64_t t = 0; t < 3; ++t)
      for (std::uint64_t i = 0; i < kind.each; ++i, ++all) seen.insert(operation(kind, Step(t), i));
  for (std::uint64_t t = 0; t < 3; ++t)
    for (const std::uint32_t bucket : {0U, 1U, static_cast<std::uint32_t>(kBucketsMax) - 1})
      for (const BucketOperation what :
           {BucketOperation::Reduce, BucketOperation::Spread, BucketOperation::GatherSum}) {
        seen.insert(operation(Step(t), bucket, what));
        ++all;
      }
  EXPECT_EQ(seen.size(), all);
}

TEST(Operations, BucketsOfMillionsOfStepsStayBelowTheOtherKinds) {
  EXPECT_LT(operation(Step(500'000'000), kBucketsMax - 1, BucketOperation::GatherSum),
            operation(operations::kNotes, Step(0)));
}

}  // namespace
}  // namespace shoal
