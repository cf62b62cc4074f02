// Gradients as factors of low rank, which are summed. Vogels, Karimireddy, Jaggi, "PowerSGD",
// NeurIPS 2019, arXiv:1905.13727; the steps on one matrix are codec/powersgd.h.
//
//   of every matrix of the bucket, v the others:
//     M <- g + e;   P <- M Q
//   all-reduce [P.., v..]
//     P <- its columns made orthonormal;   Q <- M^T P
//   all-reduce [Q..]
//     g <- P Q^T, the sum over all members;   e <- M - P Q^T with the own Q
//
// Symbols: m x n a tensor as a matrix, r rank. Cost: r (m + n) values a matrix instead of m n, in
// two all-reduces; state: the residual, twice, and Q, twice.
// Deviation: sums, where the paper has means: a step divides by samples. Q begins anew in every
// view, so that a newcomer has the same one.
// Failure: as an encoder's (encoder.h): an aborted step changes nothing.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "codec/encoding.h"
#include "codec/powersgd_step.h"
#include "collective/exchange.h"
#include "learner/layout.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

class LowRankSums {
 public:
  LowRankSums(Endpoint& endpoint, const Encoding& encoding, Seed seed, const Layout& layout,
              Substance substance);

  void begin_view(Generation generation);
  void begin();
  // On return g, of whole tensors, holds about the sum over all members, with the same bits on all.
  // Takes two operations from `operation` on. REQUIRES: once a step for every tensor.
  Task<void> all_reduce(Exchange exchange, const Group& group, Range g, std::uint64_t operation);
  // There is no other member: g <- g + e.
  void keep(const Range& g);
  // The step counts.
  void commit();

  Range residual() { return e_[now_]->all(); }

 private:
  struct Matrix {
    Elements at, n;
    LowRank shape;
    std::size_t q_at = 0;  // among all Q
  };
  // Tensors of one bucket and where their numbers are in what is summed.
  struct Bucket {
    std::vector<const Matrix*> matrices;
    Cuts others;
    std::optional<Arena> p, q, scratch;  // p: then the others
    Elements p_size, q_size;
  };
  Bucket& bucket_of(const Range& g);
  void project(Bucket& bucket, const Range& g);
  void project_back(Bucket& bucket);
  void put_together(Bucket& bucket, const Range& g);
  std::span<float> residual(const Matrix& matrix, bool next) {
    return e_[next ? 1 - now_ : now_]->range(matrix.at, matrix.n).data();
  }
  std::span<float> q_of(const Matrix& matrix, bool next) {
    return std::span(q_[next ? 1 - now_ : now_]).subspan(matrix.q_at, matrix.shape.q_size());
  }

  Endpoint& endpoint_;
  const Seed seed_;
  const Substance substance_;
  std::vector<Matrix> matrices_;
  std::deque<Bucket> buckets_;
  std::vector<std::pair<Elements, Elements>> ranges_;  // of buckets_
  std::array<std::optional<Arena>, 2> e_;
  std::array<std::vector<float>, 2> q_;
  std::size_t now_ = 0;
  Cuts done_;
};

}  // namespace shoal
