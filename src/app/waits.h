// Who of a process stays awake while its worker waits for others, and whether it keeps its core.
#pragma once

#include <string>

#include "launch/process.h"

namespace shoal {

// `waits`: --wait-mode. `computing`: the threads that compute, of all processes of the job here.
// Where they are more than the cores somebody else needs the core of whoever waits; where they are
// half as many, what talks has a core of its own.
Awake who_stays_awake(const std::string& waits, int computing, int cores);

// `wish`: --cores. `threads`: those of one process that compute, of `computing`. Only one that is
// alone can go elsewhere: several of a process share a step.
bool leaves_slow_cores(const std::string& wish, int threads, int computing, int cores);

}  // namespace shoal
