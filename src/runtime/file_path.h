// The rule for paths of Files, live and simulated.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace shoal {

// The names along a path relative to the job's folder: "a/b" gives {a, b}; "" and "." give {}, the
// folder itself. Throws DataError for an absolute path and for a path with "..", "." or an empty
// name in it, or a zero byte: it could leave the job's folder, or name one file in two ways.
std::vector<std::string> path_names(std::string_view path);

}  // namespace shoal
