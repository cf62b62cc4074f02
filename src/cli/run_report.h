// From the folders of finished runs to a report: what `shoal report` and `shoal compare` share.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "report/comparison.h"

namespace shoal {

// Throws DataError: no such folder, or none of a finished run.
FinishedRun read_run(const std::filesystem::path& folder);

// The page, and table.csv beside it. Throws DataError.
void write_report(const Comparison& comparison, const std::filesystem::path& page);

}  // namespace shoal
