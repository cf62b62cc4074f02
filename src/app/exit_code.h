// The exit codes of `shoal`; scripts and the swarm rely on the numbers.
#pragma once

namespace shoal {

enum class ExitCode : int {
  kOk = 0,
  kUsage = 1,              // The command line, a configuration or the data cannot be used.
  kStopped = 3,            // A signal ended the training; what was done is in a checkpoint.
  kCrash = 127,            // A failed check, an unhandled exception or a fatal signal.
  kLiveness = 128,         // A run did not finish although every fault was healed.
  kCorrectness = 129,      // An invariant was broken or a result is wrong.
  kLostDeterminism = 130,  // The same seed gave two different hashes.
};

}  // namespace shoal
