#include "report/words.h"

#include <fmt/core.h>

#include <cmath>

namespace shoal {
namespace {

std::string label(const Comparison& c, std::size_t who) { return c.contestants[who].label; }

// "easgd was first at 84.0 % test accuracy, after 12.3 s: 1.4 times as fast as pytorch."
std::string lead(const Comparison& c, const Winner& w, const char* better) {
  if (!w.next) return ".";
  if (!w.clear) return fmt::format("; {} is within what seeds differ by.", label(c, *w.next));
  return fmt::format(", {:.{}f} times {} {}.", w.ratio, w.ratio < 10 ? 1 : 0, better,
                     label(c, *w.next));
}

std::string seeds_note(const Comparison& c) {
  std::size_t least = c.contestants.front().runs.size();
  for (const Contestant& one : c.contestants) least = std::min(least, one.runs.size());
  return least > 1 ? ""
                   : "One seed each: small differences may be chance; `shoal compare --seeds 3` "
                     "gives error bars.";
}

}  // namespace

std::string plain_text(double value) {
  if (!std::isfinite(value)) return "-";
  if (value < 1000) return fmt::format("{:.3g}", value);
  const std::string digits = fmt::format("{:.0f}", value);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}
std::string percent_text(double share) {
  return std::isfinite(share) ? fmt::format("{:.1f} %", 100 * share) : "-";
}
std::string bytes_text(double bytes) {
  if (!std::isfinite(bytes)) return "-";
  const char* const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  std::size_t unit = 0;
  while (bytes >= 999.5 && unit + 1 < std::size(units)) {
    bytes /= 1000;
    ++unit;
  }
  return fmt::format("{:.3g} {}", bytes, units[unit]);
}
std::string time_text(double seconds) {
  if (!std::isfinite(seconds)) return "-";
  if (seconds < 0.0995) return fmt::format("{:.3g} ms", 1e3 * seconds);
  if (seconds < 999.5) return fmt::format("{:.3g} s", seconds);
  if (seconds < 86400) return fmt::format("{:.3g} h", seconds / 3600);
  return fmt::format("{:.3g} days", seconds / 86400);
}
std::string score_text(const Comparison& comparison, double value) {
  return comparison.by_accuracy ? percent_text(value) : plain_text(value);
}
std::string score_name(const Comparison& comparison) {
  return comparison.by_accuracy ? "test accuracy" : "test loss";
}

std::vector<std::string> verdict_of(const Comparison& c) {
  std::vector<std::string> sentences;
  if (!c.target && c.by_time) {
    sentences.push_back(fmt::format("{} is fastest, {} a sample{}", label(c, c.by_time->who),
                                    time_text(c.by_time->value),
                                    lead(c, *c.by_time, "as fast as")));
    if (c.by_bytes)
      sentences.push_back(fmt::format("{} sends least, {} a sample{}", label(c, c.by_bytes->who),
                                      bytes_text(c.by_bytes->value),
                                      lead(c, *c.by_bytes, "less than")));
    return sentences;
  }
  if (!c.target) return sentences;
  const std::string target = fmt::format("{} {}", score_text(c, *c.target), score_name(c));
  if (!c.by_time) {
    sentences.push_back(fmt::format("Nobody reached {}.", target));
    return sentences;
  }
  sentences.push_back(fmt::format("{} is first at {}, after {}{}", label(c, c.by_time->who), target,
                                  time_text(c.by_time->value), lead(c, *c.by_time, "as fast as")));
  if (c.by_bytes)
    sentences.push_back(fmt::format("{} needs the fewest bytes for it, {} sent by a worker{}",
                                    label(c, c.by_bytes->who), bytes_text(c.by_bytes->value),
                                    lead(c, *c.by_bytes, "less than")));
  std::string missed;
  for (const Contestant& one : c.contestants)
    if (one.time_to_target_s.n < one.runs.size())
      missed += fmt::format("{}{}", missed.empty() ? "" : ", ", one.label);
  if (!missed.empty()) sentences.push_back(fmt::format("Not there yet: {}.", missed));
  if (const std::string note = seeds_note(c); c.contestants.size() > 1 && !note.empty())
    sentences.push_back(note);
  return sentences;
}

}  // namespace shoal
