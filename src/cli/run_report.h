// Makes a report from the folders of finished runs, for `shoal report` and `shoal compare`.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "report/comparison.h"

namespace shoal {

// Throws DataError if the folder does not exist or has no finished run.
FinishedRun read_run(const std::filesystem::path& folder);

// Writes the page, and table.csv beside it. Throws DataError.
void write_report(const Comparison& comparison, const std::filesystem::path& page);

}  // namespace shoal
