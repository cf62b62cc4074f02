// Which worker owns which samples: `--partition global|local|by-label|dirichlet:A`.
//
//   global       nobody owns any: all deal from one permutation of everything (the ledger)
//   local        random parts of equal size: what machines have that read only their own disk
//   by-label     sorted by class, then cut: the hardest case, a worker sees one or two classes
//   dirichlet:A  the share that each worker has of each class is drawn from Dirichlet(A): even for
//                a large A, one class per worker for a small one. Hsu, Qi, Brown, "Measuring the
//                effects of non-identical data distribution for federated visual classification",
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
std::string describe(const Partition& partition);    // the text that means it

// The class of every sample, for partitions that need it: one pass over the source. Throws
// ConfigError where samples have none.
std::vector<std::int64_t> labels_of(const BatchSource& source);

// For each worker the samples that it owns, in ascending order; each is owned once, and everybody
// owns some. A pure function, so that every node computes the same. `labels` is empty where the
// partition needs none. Throws ConfigError for fewer samples than workers.
// REQUIRES: not Global, workers > 0.
std::vector<std::vector<SampleId>> partition_samples(const Partition& partition, Seed seed,
                                                     std::uint64_t samples,
                                                     std::span<const std::int64_t> labels,
                                                     std::uint32_t workers);

}  // namespace shoal
