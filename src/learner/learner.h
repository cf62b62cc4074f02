// Learner: computes gradients from parameters and samples.
//
// It keeps no state between calls: parameters, running statistics and counters lie in the given
// arena (layout.h), so one learner may serve several replicas.
//
// Backward yields a stream of ready buckets, which the strategy consumes while backward continues:
//
//   Channel<Ready> ready;
//   group.spawn(learner.gradient(env, state, {.g = g}, portion, ready, score));
//   while (auto bucket = co_await ready.next()) group.spawn(exchange(*bucket));
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/types.h"
#include "learner/gate.h"
#include "learner/layout.h"
#include "learner/normalization.h"
#include "runtime/channel.h"
#include "runtime/env.h"
#include "runtime/pieces.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

// The gradient of a fully connected layer's weight is error^T x input: batch x (rows + columns)
// numbers, where the gradient has rows x columns.
struct Factors {
  Elements batch, rows, columns;
  std::shared_ptr<const float> error;  // batch x rows
  std::shared_ptr<const float> input;  // batch x columns
};

// The gradient of a table in which a batch uses few rows; all other rows are zero.
struct SparseRows {
  Elements rows, columns;                       // of the rows used
  std::shared_ptr<const std::int64_t> indices;  // of the rows, ascending
  std::shared_ptr<const float> values;          // rows x columns
};

// A complete bucket of the gradient: a range of the arena.
struct Ready {
  std::uint32_t bucket = 0;  // its number, the same on every worker
  Elements at;
  Elements n;
  // The same numbers in another form, if the bucket is one tensor: factors on request, sparse rows
  // if the gradient came in that form.
  std::optional<Factors> factors = {};
  std::optional<SparseRows> sparse = {};
};

// The work of one worker in one step.
struct Portion {
  std::uint64_t epoch = 0;
  Step step;
  std::uint32_t shard = 0;  // of the global batch; determines the random draws of a forward pass
  std::vector<SampleId> samples;
};

// Sums over samples, so that those of several workers can be added.
struct Score {
  double loss = 0;
  std::uint64_t samples = 0;
  std::uint64_t predictions = 0;  // number of predictions: samples, or tokens; 0 for regression
  std::uint64_t correct = 0;

  Score& operator+=(const Score& o) {
    loss += o.loss;
    samples += o.samples;
    predictions += o.predictions;
    correct += o.correct;
    return *this;
  }
  bool operator==(const Score&) const = default;
};
// NaN if there are no samples.
inline double mean_loss(const Score& s) { return s.loss / static_cast<double>(s.samples); }
inline double accuracy(const Score& s) {
  return static_cast<double>(s.correct) / static_cast<double>(s.predictions);
}

// Probabilities of the classes, and the right class.
struct Predictions {
  std::uint64_t classes = 0;
  std::vector<float> rows;  // one row per prediction
  std::vector<std::int64_t> labels;
};

// Takes gradients from backward in place of the arena, for example an encoder. Called on backward's
// thread, once for every piece, in any order.
class GradientSink {
 public:
  virtual ~GradientSink() = default;
  virtual void take(Elements at, std::span<const float> gradient) = 0;
};

struct GradientTarget {
  Range g;                           // of the parameters only
  GradientSink* sink = nullptr;      // if set, g is not written
  InPassReducer* meeting = nullptr;  // of this pass with the passes of the other workers
  ParameterGate* gate = nullptr;     // for parameters that have not arrived; only if
                                     // waits_at_gates()
  Taken buckets = Taken::AtOnce;     // AtTheEnd: no bucket is useful before the last
};

// Thread safety: used by one node at a time.
class Learner {
 public:
  virtual ~Learner() = default;

  virtual const Layout& layout() const = 0;
  virtual Substance substance() const = 0;
  // The adjacent ranges in which a GradientSink takes gradients: tensors. A bucket consists of some
  // of them.
  virtual Cuts pieces() const;
  // Writes the initial state, the same on every worker.
  virtual void initialize(Range state) const = 0;
  // Sums the gradients of the portion's samples into the target, bucket by bucket, adds to `score`,
  // and closes `ready` at the end. Every bucket appears once, in the same order on every worker,
  // even without samples. If cancelled or failed, it leaves `ready` open and the target undefined;
  // the learner stays usable.
  virtual Task<void> gradient(Env& env, Range state, GradientTarget target, Portion portion,
                              Channel<Ready>& ready, Score& score) = 0;
  // Whether a pass may begin before all parameters have arrived, and waits at the target's gate for
  // the parameters of each layer. State that is changed in place, such as running statistics, must
  // be there from the beginning.
  virtual bool waits_at_gates() const { return false; }
  // Evaluates the state on the held-out samples [from, to); changes nothing.
  virtual Task<Score> evaluate(Env& env, Range state, std::uint64_t from, std::uint64_t to) = 0;
  // The state's predictions for these samples. Throws ConfigError if no classes are predicted.
  virtual Task<Predictions> predict(Env& env, Range state, std::uint64_t from, std::uint64_t to);
  virtual std::uint64_t held_out() const { return 0; }  // the number of held-out samples
  // Trains on the portion's samples one after the other, each by a step of plain SGD on the state,
  // which other lanes read and write at the same time (base/shared.h). The score outlives the lane.
  // Null: this model cannot do that.
  virtual std::unique_ptr<Lane> lane(Range state, Portion portion, double eta, Score& score);
  // A hint: this portion is probably the next. Its samples may be fetched.
  virtual Task<void> prefetch(Env& env, Portion portion);
  // A hint: other work comes before the next gradient, and may need the memory kept for it.
  virtual void pause() {}
};

}  // namespace shoal
