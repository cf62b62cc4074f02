// Learner: what turns parameters and samples into a gradient.
//
// It keeps no state between calls: parameters, running statistics and counters all lie in the arena
// that it is given (layout.h), so that one learner may serve several replicas.
//
// Backward yields a stream of ready buckets, which the strategy consumes while backward goes on:
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

// The gradient of a fully connected layer's weight is error^T x input: of batch x (rows + columns)
// numbers where the gradient has rows x columns.
struct Factors {
  Elements batch, rows, columns;
  std::shared_ptr<const float> error;  // batch x rows
  std::shared_ptr<const float> input;  // batch x columns
};

// The gradient of a table of which a batch touches a few rows: all others are zero.
struct SparseRows {
  Elements rows, columns;                       // of those touched
  std::shared_ptr<const std::int64_t> indices;  // of the rows, ascending
  std::shared_ptr<const float> values;          // rows x columns
};

// A bucket of the gradient that is complete: a range of the arena.
struct Ready {
  std::uint32_t bucket = 0;  // its number, the same on every worker
  Elements at;
  Elements n;
  // The same numbers in another form, of a bucket that is one tensor: factors when asked for,
  // sparse rows when that is how they came.
  std::optional<Factors> factors = {};
  std::optional<SparseRows> sparse = {};
};

// What one worker computes in one step.
struct Portion {
  std::uint64_t epoch = 0;
  Step step;
  std::uint32_t shard = 0;  // of the global batch: the draws of a forward pass differ by it
  std::vector<SampleId> samples;
};

// Sums over samples, so that those of several workers can be added.
struct Score {
  double loss = 0;
  std::uint64_t samples = 0;
  std::uint64_t predictions = 0;  // what could be right: samples, or tokens; 0 for regression
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
// No number where there is nothing to divide by.
inline double mean_loss(const Score& s) { return s.loss / static_cast<double>(s.samples); }
inline double accuracy(const Score& s) {
  return static_cast<double>(s.correct) / static_cast<double>(s.predictions);
}

// Probabilities of the classes, and which was right.
struct Predictions {
  std::uint64_t classes = 0;
  std::vector<float> rows;  // a row for each prediction
  std::vector<std::int64_t> labels;
};

// Takes gradients as they come from backward, in place of the arena: an encoder, say. Called where
// backward runs, once for every piece, in any order.
class GradientSink {
 public:
  virtual ~GradientSink() = default;
  virtual void take(Elements at, std::span<const float> gradient) = 0;
};

struct GradientTarget {
  Range g;                           // of the parameters alone
  GradientSink* sink = nullptr;      // then g is left as it is
  InPassReducer* meeting = nullptr;  // of this pass with those of the other workers
  ParameterGate* gate = nullptr;     // where parameters are still to come; only if waits_at_gates()
  Taken buckets = Taken::AtOnce;     // AtTheEnd: none is of use before the last
};

// Thread safety: used by one node at a time.
class Learner {
 public:
  virtual ~Learner() = default;

  virtual const Layout& layout() const = 0;
  virtual Substance substance() const = 0;
  // The ranges of the parameters in which a GradientSink takes their gradients, end to end:
  // tensors. A bucket is some of them.
  virtual Cuts pieces() const;
  // Writes the initial state, the same on every worker.
  virtual void initialize(Range state) const = 0;
  // Sums the gradients of the portion's samples into the target, bucket by bucket, adds to `score`
  // and closes `ready` at the end. Every bucket appears once, in the same order on every worker,
  // also for no samples at all. Cancelled or failed, it leaves `ready` open and the target
  // undefined; the learner stays usable.
  virtual Task<void> gradient(Env& env, Range state, GradientTarget target, Portion portion,
                              Channel<Ready>& ready, Score& score) = 0;
  // Whether a pass may begin before all parameters are there, and waits at the target's gate for
  // those of each layer. What is changed in place, as running statistics are, is there from the
  // beginning.
  virtual bool waits_at_gates() const { return false; }
  // How good the state is on the samples [from, to) of those held out for that; changes nothing.
  virtual Task<Score> evaluate(Env& env, Range state, std::uint64_t from, std::uint64_t to) = 0;
  // What the state says of them. Throws ConfigError where no classes are predicted.
  virtual Task<Predictions> predict(Env& env, Range state, std::uint64_t from, std::uint64_t to);
  virtual std::uint64_t held_out() const { return 0; }  // how many there are
  // The portion's samples one after the other, each a step of plain SGD on the state, which other
  // lanes read and write meanwhile (base/shared.h). The score outlives it. Null: this model cannot.
  virtual std::unique_ptr<Lane> lane(Range state, Portion portion, double eta, Score& score);
  // A hint: this portion is probably the next. Its samples may be fetched meanwhile.
  virtual Task<void> prefetch(Env& env, Portion portion);
  // A hint: something else comes before the next gradient, and may need the memory that is kept for
  // that one.
  virtual void pause() {}
};

}  // namespace shoal
