// report.html: a comparison as one page that needs nothing else, neither network nor server. Charts
// are drawn by Chart.js (MIT), which is part of the page.
#pragma once

#include <string>

#include "report/comparison.h"

namespace shoal {

// Whatever names and folders contain stays text.
std::string page_of(const Comparison& comparison);

}  // namespace shoal
