// report.html: a comparison as one self-contained page, without network or server. Chart.js (MIT),
// which is part of the page, draws the charts.
#pragma once

#include <string>

#include "report/comparison.h"

namespace shoal {

// Names and folders are escaped.
std::string page_of(const Comparison& comparison);

}  // namespace shoal
