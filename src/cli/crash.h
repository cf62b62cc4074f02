// Fatal signals end the process with ExitCode::kCrash, so that scripts can tell a crash from a
// verdict.
#pragma once

namespace shoal {

// Handles SIGABRT (failed checks, std::terminate), SIGSEGV, SIGBUS, SIGFPE and SIGILL. A signal
// that already has a handler keeps it: sanitizers print their report there and set an exit code
// themselves.
void exit_on_crash();

}  // namespace shoal
