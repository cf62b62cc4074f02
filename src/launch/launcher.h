// The launcher of a job: starts its processes and watches them, and has the coordinator where it
// can.
#pragma once

#include "launch/job.h"
#include "runtime/view.h"

namespace shoal {

// Until the job has ended; returns its exit status. `views` is for the coordinator, if it is here.
// Throws ConfigError, and CannotRun for a program that does not run.
int run_job(LaunchOptions options, CoordinatorOptions views = {});

}  // namespace shoal
