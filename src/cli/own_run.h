// Runs this program as a child process: `compare` and `advise` make their runs this way.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace shoal {

struct OwnRun {
  bool ok = false;
  std::string why;  // the child's error message
};

// Runs `shoal WORD...` to its end; its output goes to the file. The child cannot outlive this
// process. Throws DataError if the file cannot be written.
OwnRun run_own(const std::vector<std::string>& words, const std::filesystem::path& log);

}  // namespace shoal
