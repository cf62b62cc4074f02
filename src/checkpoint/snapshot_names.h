// The names in a folder of snapshots; private to this layer.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"

namespace shoal {

inline constexpr std::string_view kLatestName = "latest";
inline constexpr std::string_view kTemporaryPrefix = "tmp-";

std::string step_name(Step step);  // step-N
// The step at the end of the name of a snapshot or a temporary file.
std::optional<Step> step_at_end(std::string_view name);
inline bool is_temporary(std::string_view name) { return name.starts_with(kTemporaryPrefix); }
// The steps of the published snapshots among the names of a folder, newest first.
std::vector<Step> published_steps(const std::vector<std::string>& names);

}  // namespace shoal
