// Who of a process stays awake while its worker waits for others.
#pragma once

#include <string>

#include "job/process.h"

namespace shoal {

// `waits`: --waits. `computing`: the threads that compute, of all processes of the job here.
// Where they are more than the cores somebody else needs the core of whoever waits; where they are
// half as many, what talks has a core of its own.
Awake who_stays_awake(const std::string& waits, int computing, int cores);

}  // namespace shoal
