// shoal probe: how long a step of a model takes, with several ways of computing; prints
// "probed THREADS CHANNELS_LAST SECONDS" for each. The other side of tune.h.
#pragma once

#include <string>

#include "cli/commands.h"
#include "learner/batch.h"

namespace shoal {

// The shape as an argument, and back. Throws ConfigError.
std::string to_words(const SampleShape& shape);
SampleShape shape_from_words(const std::string& words);

}  // namespace shoal
