// How this program was built: a replay needs the same commit, compiler and flags.
#pragma once

#include <string>

namespace shoal {

struct BuildInfo {
  std::string version;   // "0.1.0"
  std::string commit;    // "1a2b3c4d5e6f", with "-dirty" when files had been changed, or "unknown"
  std::string compiler;  // "GNU 12.2.0"
  std::string mode;      // "Release", "Debug", followed by the sanitizer if any
};

BuildInfo build_info();
std::string describe(const BuildInfo& build);  // on one line

const char* build_commit();  // in a file of its own, which the build writes anew for each commit

}  // namespace shoal
