// The mean of all models, of which only what they differ by from the last one is sent, encoded.
// Reisizadeh et al., "FedPAQ", AISTATS 2020, arXiv:1909.13014 (rounded differences after local
// steps); Basu et al., "Qsparse-local-SGD", NeurIPS 2019, arXiv:1906.02367 (sparse ones, with what
// is left out kept).
//
//   x: the model that all went on with from the last meeting
//   d <- w_i - x + e;   s <- sum of c(d) over all workers;   e <- d - c(d)
//   m <- x + s / P
//
// Symbols: c the encoding, e the rest, with +ef; P workers, N numbers of a model.
// Cost of a meeting: that of an encoded sum (encoded/all_reduce.h); two arrays of N, and the rest.
// Deviation: sums may be encoded once more on their way, by who passes them on; FedPAQ has a server
//   that gets all differences.
// Failure: the first meeting of a view is of whole models, with what waits: whoever is new has no
//   x, and after a loss not all may have the same. A lost worker's rest is lost with it.
#pragma once

#include <vector>

#include "decentral/training_round.h"
#include "encoded/encoder.h"
#include "learner/learner.h"
#include "replica/per_worker_state.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

// Pieces of a model's parameters, and one of what else has a mean (running statistics): that goes
// as it is, since a variance must not become negative.
Cuts model_pieces(const Learner& learner);
std::vector<Encoding> model_encodings(const Encode& encode, const Learner& learner);

// Thread safety: none; it belongs to the thread of its node.
class DifferenceMean {
 public:
  DifferenceMean(Node& node, const Learner& learner, const DecentralTerms& terms);

  // mean = about that of all models, with the same bits on all. `t`: the step, the same on all.
  Task<void> form(ViewContext& context, Step t, Range model, Range mean, Range scratch);
  // What all go on with.
  Task<void> agree(Env& env, Range model);
  // The view is over.
  void forget() { agreed_ = false; }
  // What waits.
  std::vector<PerWorkerArray> own();

 private:
  const DecentralTerms& terms_;
  Encoder encoder_;
  Arena last_, difference_;
  bool agreed_ = false;  // `last_` is what all have
};

}  // namespace shoal
