// The user's tensors and datasets as the learner wants them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/types.h"
#include "data/dataset.h"
#include "shoal/train.h"

namespace shoal {

// A dataset of the user's own, with the shape that its samples' targets had.
struct OwnData {
  Dataset dataset;
  std::vector<std::int64_t> target_shape;  // of one sample
};

// Throws ConfigError or DataError: nothing in it, x and y of different length, types or shapes that
// cannot be trained on.
OwnData open_own_data(const Data& data, Seed seed, double test_fraction);

}  // namespace shoal
