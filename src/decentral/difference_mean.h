// The mean of all models, computed from encoded differences to the last mean. Reisizadeh et al.,
// "FedPAQ", AISTATS 2020, arXiv:1909.13014 (quantized differences after local steps); Basu et al.,
// "Qsparse-local-SGD", NeurIPS 2019, arXiv:1906.02367 (sparse differences with error feedback).
//
//   x: the common model after the last meeting
//   d <- w_i - x + e;   s <- sum of c(d) over all workers;   e <- d - c(d)
//   m <- x + s / P
//
// Symbols: c the encoding, e the residual, with +ef; P workers, N numbers of a model.
// Cost of a meeting: that of an encoded sum (encoded/all_reduce.h); two arrays of N, and e.
// Deviation: members that forward sums may encode them again; in FedPAQ a server gets all
//   differences.
// Failure: the first meeting of a view exchanges whole models plus residuals: newcomers have no x,
//   and after a loss x may differ between members. A lost worker's residual is lost.
#pragma once

#include <vector>

#include "decentral/training_round.h"
#include "encoded/encoder.h"
#include "learner/learner.h"
#include "replica/per_worker_state.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

// The pieces of a model's parameters, and one piece of averaged buffers (running statistics). That
// one is not encoded, because a variance must not become negative.
Cuts model_pieces(const Learner& learner);
std::vector<Encoding> model_encodings(const Encode& encode, const Learner& learner);

// Thread safety: none; it belongs to the thread of its node.
class DifferenceMean {
 public:
  DifferenceMean(Node& node, const Learner& learner, const DecentralTerms& terms);

  // mean = approximately the mean of all models, with the same bits on all. `t`: the same step on
  // all.
  Task<void> form(ViewContext& context, Step t, Range model, Range mean, Range scratch);
  // Notes the common model after a meeting.
  Task<void> agree(Env& env, Range model);
  // The view is over.
  void forget() { agreed_ = false; }
  // The residual.
  std::vector<PerWorkerArray> own();

 private:
  const DecentralTerms& terms_;
  Encoder encoder_;
  Arena last_, difference_;
  bool agreed_ = false;  // all members have `last_`
};

}  // namespace shoal
