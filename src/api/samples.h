// Presents the user's tensors and datasets to the learner.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/types.h"
#include "data/dataset.h"
#include "shoal/train.h"

namespace shoal {

// A dataset of the user, with the shape of its targets.
struct OwnData {
  Dataset dataset;
  std::vector<std::int64_t> target_shape;  // of one sample
};

// Throws ConfigError or DataError: no samples, x and y of different length, types or shapes that
// cannot be trained on.
OwnData open_own_data(const Data& data, Seed seed, double test_fraction);

}  // namespace shoal
