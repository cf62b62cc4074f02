// Learner: what turns parameters and samples into a gradient.
//
// Backward yields a stream of ready buckets, last layer first; the strategy consumes them while
// backward goes on:
//
//   Channel<Ready> ready;
//   group.spawn(learner.gradient(env, w, g, samples, ready));
//   while (auto bucket = co_await ready.next()) group.spawn(exchange(*bucket));
#pragma once

#include <cstdint>
#include <vector>

#include "base/types.h"
#include "runtime/channel.h"
#include "runtime/env.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

// A bucket of the gradient that is complete: a range of the arena. (Factors of fully connected
// layers will come with it.)
struct Ready {
  std::uint32_t bucket = 0;  // its number, the same on every worker
  Elements at;
  Elements n;
};

// Thread safety: used by one node. The same learner may serve several steps, one after the other.
class Learner {
 public:
  virtual ~Learner() = default;

  virtual Elements parameters() const = 0;
  virtual Substance substance() const = 0;
  // Writes the initial parameters, the same on every worker.
  virtual void initialize(Range w) const = 0;
  // Sums the gradients of `samples` at w into g, bucket by bucket, and closes `ready` at the end.
  // Every bucket appears once, in the same order on every worker, also for no samples at all.
  // Cancelled or failed, it leaves `ready` open and g undefined; the learner stays usable.
  virtual Task<void> gradient(Env& env, Range w, Range g, std::vector<SampleId> samples,
                              Channel<Ready>& ready) = 0;
};

}  // namespace shoal
