// shoal probe: measures the step time of a model with several ways of computing, and prints "probed
// THREADS CHANNELS_LAST SECONDS" for each. tune.h reads this.
#pragma once

#include <string>

#include "cli/commands.h"
#include "learner/batch.h"

namespace shoal {

// Converts a shape to an argument and back. Throws ConfigError.
std::string to_words(const SampleShape& shape);
SampleShape shape_from_words(const std::string& words);

}  // namespace shoal
