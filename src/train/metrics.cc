#include "train/metrics.h"

#include <fmt/core.h>

#include <cmath>

namespace shoal {
namespace {

// The length of the UTF-8 sequence at the start of `text`; 0: it is malformed.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  const std::size_t n = first < 0x80                     ? 1
                        : first >= 0xc2 && first <= 0xdf ? 2
                        : first >= 0xe0 && first <= 0xef ? 3
                        : first >= 0xf0 && first <= 0xf4 ? 4
                                                         : 0;
  if (n > text.size()) return 0;
  for (std::size_t i = 1; i < n; ++i)
    if ((byte(i) & 0xc0U) != 0x80) return 0;
  // Overlong, a surrogate, or beyond the last character.
  if (n == 3 && ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f))) return 0;
  if (n == 4 && ((first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) > 0x8f))) return 0;
  return n;
}

}  // namespace

std::string json_number(double value) {
  // A float32 has seven digits; more would only show the rounding.
  return std::isfinite(value) ? fmt::format("{:.7g}", value) : "null";
}

std::string json_string(std::string_view text) {
  std::string json = "\"";
  while (!text.empty()) {
    const std::size_t n = utf8_length(text);
    const auto c = static_cast<unsigned char>(text.front());
    if (n == 0) {
      json += "\\ufffd";
    } else if (c == '"' || c == '\\') {
      json += '\\';
      json += text.front();
    } else if (c < 0x20) {
      json += fmt::format("\\u{:04x}", c);
    } else {
      json += text.substr(0, n);
    }
    text.remove_prefix(n == 0 ? 1 : n);
  }
  return json + "\"";
}

std::string to_json_line(const StepMetrics& m) {
  return fmt::format(
      "{{\"node\":{},\"step\":{},\"view\":{},\"epoch\":{},\"time_s\":{:.6f},\"loss\":{},"
      "\"accuracy\":{},"
      "\"eta\":{},\"samples\":{},\"compute_s\":{},\"overlap_s\":{},\"wait_s\":{},\"update_s\":{},"
      "\"bytes_sent\":{},\"staleness\":{}}}\n",
      m.node, m.step, m.view, m.epoch, seconds(m.time), json_number(m.loss),
      json_number(m.accuracy), json_number(m.eta), m.samples, json_number(m.compute_s),
      json_number(m.overlap_s), json_number(m.wait_s), json_number(m.update_s), m.bytes_sent,
      json_number(m.staleness));
}

}  // namespace shoal
