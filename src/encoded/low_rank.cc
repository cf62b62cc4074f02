#include "encoded/low_rank.h"

#include <algorithm>

#include "collective/reduce.h"
#include "runtime/env.h"

namespace shoal {

LowRankSums::LowRankSums(Endpoint& endpoint, const Encoding& encoding, Seed seed,
                         const Layout& layout, Substance substance)
    : endpoint_(endpoint), seed_(seed), substance_(substance) {
  const std::uint32_t rank = traits(encoding).rank;
  std::size_t q_size = 0;
  for (const TensorEntry& tensor : layout.parameter_tensors()) {
    const std::vector<std::uint64_t> dimensions(tensor.shape.begin(), tensor.shape.end());
    const std::optional<LowRank> shape = powersgd_shape(dimensions, rank);
    if (!shape) continue;
    matrices_.push_back({tensor.at, tensor.n, *shape, q_size});
    q_size += shape->q_size();
  }
  for (auto& e : e_) e.emplace(layout.parameters(), substance_);
  for (auto& q : q_) q.resize(substance_ == Substance::Real ? q_size : 0);
}

void LowRankSums::begin_view(Generation generation) {
  if (substance_ == Substance::Phantom) return;
  for (const Matrix& matrix : matrices_)
    powersgd_start(matrix.shape, q_of(matrix, false),
                   {seed_, generation.value(), matrix.at.value()});
}

void LowRankSums::begin() { done_.clear(); }

LowRankSums::Bucket& LowRankSums::bucket_of(const Range& g) {
  for (std::size_t i = 0; i < ranges_.size(); ++i)
    if (ranges_[i].first == g.at && ranges_[i].second == g.n) return buckets_[i];
  ranges_.emplace_back(g.at, g.n);
  Bucket& bucket = buckets_.emplace_back();
  Elements at = g.at;
  Elements others;
  const auto leave = [&](Elements to) {
    if (to > at) bucket.others.push_back({at, to - at});
    others += to - at;
  };
  for (const Matrix& matrix : matrices_) {
    if (matrix.at < g.at || matrix.at + matrix.n > g.at + g.n) continue;
    leave(matrix.at);
    at = matrix.at + matrix.n;
    bucket.matrices.push_back(&matrix);
    bucket.p_size += Elements(matrix.shape.p_size());
    bucket.q_size += Elements(matrix.shape.q_size());
  }
  leave(g.at + g.n);
  bucket.p.emplace(endpoint_, bucket.p_size + others, substance_);
  bucket.q.emplace(endpoint_, bucket.q_size, substance_);
  bucket.scratch.emplace(endpoint_, std::max(bucket.p->size(), bucket.q_size), substance_);
  return bucket;
}

// M is written where the next residual will be.
void LowRankSums::project(Bucket& bucket, const Range& g) {
  std::span<float> to = bucket.p->all().data();
  for (const Matrix* matrix : bucket.matrices) {
    const std::span<const float> gradient = g.slice(matrix->at - g.at, matrix->n).data();
    const std::span<float> m = residual(*matrix, true);
    const std::span<const float> before = residual(*matrix, false);
    for (std::size_t i = 0; i < m.size(); ++i) m[i] = gradient[i] + before[i];
    powersgd_project(matrix->shape, m, q_of(*matrix, false), to.first(matrix->shape.p_size()));
    to = to.subspan(matrix->shape.p_size());
  }
  for (const Cut& cut : bucket.others) {
    std::ranges::copy(g.slice(cut.at - g.at, cut.n).data(), to.begin());
    to = to.subspan(cut.n.value());
  }
}

void LowRankSums::project_back(Bucket& bucket) {
  std::span<float> p = bucket.p->all().data();
  std::span<float> q = bucket.q->all().data();
  for (const Matrix* matrix : bucket.matrices) {
    const std::span<float> own_p = p.first(matrix->shape.p_size());
    const std::span<float> own_q = q.first(matrix->shape.q_size());
    powersgd_orthogonalize(matrix->shape, own_p);
    powersgd_back(matrix->shape, residual(*matrix, true), own_p, own_q);
    powersgd_add(matrix->shape, own_p, own_q, -1, residual(*matrix, true));
    p = p.subspan(own_p.size());
    q = q.subspan(own_q.size());
  }
}

void LowRankSums::put_together(Bucket& bucket, const Range& g) {
  std::span<const float> p = bucket.p->all().data();
  std::span<const float> q = bucket.q->all().data();
  for (const Matrix* matrix : bucket.matrices) {
    const std::span<float> to = g.slice(matrix->at - g.at, matrix->n).data();
    const std::span<const float> sum = q.first(matrix->shape.q_size());
    std::ranges::fill(to, 0.0F);
    powersgd_add(matrix->shape, p.first(matrix->shape.p_size()), sum, 1, to);
    std::ranges::copy(sum, q_of(*matrix, true).begin());
    p = p.subspan(matrix->shape.p_size());
    q = q.subspan(sum.size());
  }
  for (const Cut& cut : bucket.others) {
    std::ranges::copy(p.first(cut.n.value()), g.slice(cut.at - g.at, cut.n).data().begin());
    p = p.subspan(cut.n.value());
  }
}

Task<void> LowRankSums::all_reduce(Exchange exchange, const Group& group, Range g,
                                   std::uint64_t operation) {
  Env& env = group.node.env;
  Bucket& bucket = bucket_of(g);
  const bool real = substance_ == Substance::Real;
  co_await env.work(Work::Encode, g.n, [&] {
    if (real) project(bucket, g);
  });
  const Range p = bucket.p->all();
  co_await shoal::all_reduce(exchange, group, p, bucket.scratch->range(Elements(0), p.n),
                             operation);
  co_await env.work(Work::Encode, g.n, [&] {
    if (real) project_back(bucket);
  });
  const Range q = bucket.q->all();
  co_await shoal::all_reduce(exchange, group, q, bucket.scratch->range(Elements(0), q.n),
                             operation + 1);
  co_await env.work(Work::Decode, g.n, [&] {
    if (real) put_together(bucket, g);
  });
  done_.push_back({g.at, g.n});
}

void LowRankSums::keep(const Range& g) {
  done_.push_back({g.at, g.n});
  if (substance_ == Substance::Phantom) return;
  add(g.data(), e_[now_]->range(g.at, g.n).data());
  std::ranges::fill(e_[1 - now_]->range(g.at, g.n).data(), 0.0F);
  for (const Matrix& matrix : matrices_)
    if (matrix.at >= g.at && matrix.at + matrix.n <= g.at + g.n)
      std::ranges::copy(q_of(matrix, false), q_of(matrix, true).begin());
}

void LowRankSums::commit() {
  Elements covered;
  for (const Cut& cut : done_) covered += cut.n;
  SHOAL_CHECK_EQ(covered, e_[0]->size());
  now_ = 1 - now_;
}

}  // namespace shoal
