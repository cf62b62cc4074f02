#include "data/partition.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "base/error.h"
#include "base/nearest.h"
#include "base/permutation.h"
#include "data/parse.h"

namespace shoal {
namespace {

constexpr std::string_view kDirichlet = "dirichlet:";
constexpr double kAlphaMin = 1e-3, kAlphaMax = 1e6;

using Parts = std::vector<std::vector<SampleId>>;

// Cuts n things into parts whose sizes differ by at most one; returns the beginning of part p.
std::uint64_t cut(std::uint64_t n, std::uint32_t p, std::uint32_t parts) {
  return n / parts * p + std::min<std::uint64_t>(p, n % parts);
}

// The logarithm of a Gamma(alpha, 1) draw; for a small alpha the draw itself underflows a double.
// Marsaglia, Tsang, "A simple method for generating gamma variables", ACM TOMS 26(3), 2000,
// doi:10.1145/358407.358414, section 6 for alpha < 1.
double log_gamma_draw(double alpha, Random& random) {
  double boost = 0;
  if (alpha < 1) {
    boost = std::log(1.0 - random.uniform()) / alpha;
    alpha += 1;
  }
  const double d = alpha - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = random.normal();
    const double v = std::pow(1 + c * x, 3);
    if (v <= 0) continue;
    const double u = 1.0 - random.uniform();
    if (std::log(u) < 0.5 * x * x + d - d * v + d * std::log(v)) return std::log(d * v) + boost;
  }
}

std::vector<double> dirichlet_draw(double alpha, std::uint32_t n, Random& random) {
  std::vector<double> p(n);
  for (double& x : p) x = log_gamma_draw(alpha, random);
  const double top = *std::ranges::max_element(p);
  double sum = 0;
  for (double& x : p) sum += x = std::exp(x - top);
  for (double& x : p) x /= sum;
  return p;
}

Parts by_label(std::span<const std::int64_t> labels, std::uint32_t workers) {
  std::vector<SampleId> order(labels.size());
  std::iota(order.begin(), order.end(), SampleId{0});
  std::ranges::stable_sort(order, {}, [&](SampleId id) { return labels[id]; });
  Parts parts(workers);
  for (std::uint32_t p = 0; p < workers; ++p)
    parts[p].assign(order.begin() + static_cast<std::ptrdiff_t>(cut(order.size(), p, workers)),
                    order.begin() + static_cast<std::ptrdiff_t>(cut(order.size(), p + 1, workers)));
  return parts;
}

Parts local(Seed seed, std::uint64_t samples, std::uint32_t workers) {
  const Permutation order(samples, Random(seed, Purpose::Partition));
  Parts parts(workers);
  for (std::uint32_t p = 0; p < workers; ++p)
    for (std::uint64_t i = cut(samples, p, workers); i < cut(samples, p + 1, workers); ++i)
      parts[p].push_back(order.at(i));
  return parts;
}

Parts dirichlet(double alpha, Seed seed, std::span<const std::int64_t> labels,
                std::uint32_t workers) {
  std::vector<std::vector<SampleId>> classes;
  for (SampleId id = 0; id < labels.size(); ++id) {
    const auto c = static_cast<std::size_t>(labels[id]);
    if (c >= classes.size()) classes.resize(c + 1);
    classes[c].push_back(id);
  }
  Parts parts(workers);
  for (std::size_t c = 0; c < classes.size(); ++c) {
    Random random(seed, Purpose::Partition, 1 + c);
    std::vector<SampleId>& ids = classes[c];
    shuffle(std::span(ids), random);
    const std::vector<double> share = dirichlet_draw(alpha, workers, random);
    double sum = 0;
    std::size_t at = 0;
    for (std::uint32_t p = 0; p < workers; ++p) {
      sum += share[p];
      const auto end = p + 1 == workers
                           ? ids.size()
                           : std::min(ids.size(), static_cast<std::size_t>(std::llround(
                                                      sum * static_cast<double>(ids.size()))));
      for (; at < end; ++at) parts[p].push_back(ids[at]);
    }
  }
  // A worker without samples could make no step: the one with the most gives it a sample.
  for (auto& part : parts) {
    if (!part.empty()) continue;
    auto& richest = *std::ranges::max_element(parts, {}, &std::vector<SampleId>::size);
    part.push_back(richest.back());
    richest.pop_back();
  }
  return parts;
}

}  // namespace

Partition parse_partition(const std::string& text) {
  if (text == "global") return {PartitionKind::Global};
  if (text == "local") return {PartitionKind::Local};
  if (text == "by-label") return {PartitionKind::ByLabel};
  if (text.starts_with(kDirichlet)) {
    const std::optional<double> alpha = read_number(text.substr(kDirichlet.size()));
    if (!alpha || !(*alpha >= kAlphaMin && *alpha <= kAlphaMax))
      throw ConfigError(fmt::format("partition {}: the number after the colon must be in {} .. {}",
                                    shown(text), kAlphaMin, kAlphaMax));
    return {PartitionKind::Dirichlet, *alpha};
  }
  const std::vector<std::string> known{"global", "local", "by-label", "dirichlet:A"};
  throw ConfigError(fmt::format("{} is not a partition. {}", shown(text), suggest(text, known)));
}

std::string describe(const Partition& partition) {
  switch (partition.kind) {
    case PartitionKind::Global: return "global";
    case PartitionKind::Local: return "local";
    case PartitionKind::ByLabel: return "by-label";
    case PartitionKind::Dirichlet: return fmt::format("{}{}", kDirichlet, partition.alpha);
  }
  return {};
}

std::vector<std::int64_t> labels_of(const BatchSource& source) {
  if (source.shape().target != TargetKind::Classes)
    throw ConfigError(
        fmt::format("samples of {} have no classes to partition them by; use global "
                    "or local",
                    describe(source.shape())));
  constexpr std::uint64_t kChunk = 256;
  std::vector<std::int64_t> labels;
  std::vector<SampleId> ids;
  Batch batch;
  for (std::uint64_t at = 0; at < source.size(); at += ids.size()) {
    ids.resize(std::min(kChunk, source.size() - at));
    std::iota(ids.begin(), ids.end(), at);
    source.fill(0, ids, batch);
    labels.insert(labels.end(), batch.labels.begin(), batch.labels.end());
  }
  return labels;
}

std::vector<std::vector<SampleId>> partition_samples(const Partition& partition, Seed seed,
                                                     std::uint64_t samples,
                                                     std::span<const std::int64_t> labels,
                                                     std::uint32_t workers) {
  SHOAL_CHECK_GT(workers, 0U);
  SHOAL_CHECK(partition.kind != PartitionKind::Global, "a global partition has no owners");
  if (partition.needs_labels()) SHOAL_CHECK_EQ(labels.size(), samples);
  if (samples < workers)
    throw ConfigError(
        fmt::format("{} samples cannot be partitioned among {} workers", samples, workers));
  Parts parts;
  switch (partition.kind) {
    case PartitionKind::Global: break;
    case PartitionKind::Local: parts = local(seed, samples, workers); break;
    case PartitionKind::ByLabel: parts = by_label(labels, workers); break;
    case PartitionKind::Dirichlet: parts = dirichlet(partition.alpha, seed, labels, workers); break;
  }
  for (auto& part : parts) std::ranges::sort(part);
  return parts;
}

}  // namespace shoal
