// Which threads of a process spin while its worker waits for others, and whether they keep their
// cores.
#pragma once

#include <string>

#include "launch/process.h"

namespace shoal {

// `waits`: --wait-mode. `computing`: the threads that compute, of all processes of the job here.
// If there are more threads than cores, a waiting thread occupies a core that another one needs; if
// there are at most half as many, the communication thread has its own core.
Awake who_stays_awake(const std::string& waits, int computing, int cores);

// `wish`: --cores. `threads`: those of one process that compute, of `computing`. Only one that is
// alone can go elsewhere: several of a process share a step.
bool leaves_slow_cores(const std::string& wish, int threads, int computing, int cores);

}  // namespace shoal
