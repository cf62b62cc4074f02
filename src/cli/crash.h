// Ends the process with ExitCode::kCrash on fatal signals, so that scripts can tell a crash from a
// verdict.
#pragma once

namespace shoal {

// Handles SIGABRT (failed checks, std::terminate), SIGSEGV, SIGBUS, SIGFPE and SIGILL. A signal
// with an existing handler keeps it: sanitizers print their report there and set an exit code
// themselves.
void exit_on_crash();

}  // namespace shoal
