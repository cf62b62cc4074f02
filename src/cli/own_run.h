// This program, run again as a child: how `compare` and `advise` make their runs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace shoal {

struct OwnRun {
  bool ok = false;
  std::string why;  // not, in the child's words
};

// `shoal WORD...`, to its end; what it prints goes to the file. It cannot outlive us. Throws
// DataError when the file cannot be written.
OwnRun run_own(const std::vector<std::string>& words, const std::filesystem::path& log);

}  // namespace shoal
