// The launcher of a job: starts its processes, supervises them, and runs the coordinator if
// possible.
#pragma once

#include "launch/job.h"
#include "runtime/view.h"

namespace shoal {

// Runs the job to its end and returns its exit status. `views` is for the coordinator, if it is in
// this process. Throws ConfigError, and CannotRun if the program cannot be run.
int run_job(LaunchOptions options, CoordinatorOptions views = {});

}  // namespace shoal
