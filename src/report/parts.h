// The files that a page is made of, as they were when this was built: cmake/EmbedText.cmake.
#pragma once

#include <string_view>

namespace shoal::parts {

extern const std::string_view kHtml, kCss, kJs, kChartJs;

}  // namespace shoal::parts
