// The files of a page, embedded at build time: cmake/EmbedText.cmake.
#pragma once

#include <string_view>

namespace shoal::parts {

extern const std::string_view kHtml, kCss, kJs, kChartJs;

}  // namespace shoal::parts
