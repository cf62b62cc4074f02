// The assignment of samples to workers: `--partition global|local|by-label|dirichlet:A`.
//
//   global       none: all workers deal from one permutation of all samples (the ledger)
//   local        random parts of equal size, as on machines that read only their own disk
//   by-label     sorted by class, then cut: the hardest case, a worker sees one or two classes
//   dirichlet:A  each worker's share of each class is drawn from Dirichlet(A): even for a large A,
//                one class per worker for a small one. Hsu, Qi, Brown, "Measuring the effects of
//                non-identical data distribution for federated visual classification",
//                arXiv:1909.06335.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/types.h"
#include "learner/batch.h"

namespace shoal {

enum class PartitionKind : std::uint8_t { Global, Local, ByLabel, Dirichlet };

struct Partition {
  PartitionKind kind = PartitionKind::Global;
  double alpha = 0;  // of Dirichlet

  bool needs_labels() const {
    return kind == PartitionKind::ByLabel || kind == PartitionKind::Dirichlet;
  }
  bool operator==(const Partition&) const = default;
};

Partition parse_partition(const std::string& text);  // throws ConfigError
std::string describe(const Partition& partition);    // the text form

// The class of every sample, for partitions that need it: one pass over the source. Throws
// ConfigError if samples have no classes.
std::vector<std::int64_t> labels_of(const BatchSource& source);

// The samples of each worker, in ascending order; each sample has one owner, and each worker has
// some. A pure function, so every node computes the same. `labels` is empty if the partition needs
// none. Throws ConfigError for fewer samples than workers. REQUIRES: not Global, workers > 0.
std::vector<std::vector<SampleId>> partition_samples(const Partition& partition, Seed seed,
                                                     std::uint64_t samples,
                                                     std::span<const std::int64_t> labels,
                                                     std::uint32_t workers);

}  // namespace shoal
