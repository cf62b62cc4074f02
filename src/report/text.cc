// A comparison for terminals.
#include <fmt/core.h>

#include <algorithm>

#include "report/words.h"

namespace shoal {
namespace {

// Counts characters, not bytes.
std::size_t length(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80; }));
}

std::string padded(const std::string& text, std::size_t width, bool left) {
  const std::string space(width - std::min(width, length(text)), ' ');
  return left ? text + space : space + text;
}

// Columns without room are only in the page and table.csv.
std::string table_text(const Comparison& c, std::size_t width) {
  std::vector<std::string> lines(c.contestants.size() + 1);
  std::size_t used = 0;
  for (const TableColumn& column : table_of(c)) {
    std::size_t widest = length(column.name);
    for (const std::string& cell : column.cells) widest = std::max(widest, length(cell) + 1);
    const bool first = used == 0;
    if (!first && used + 2 + widest > width) break;
    const std::string gap = first ? "" : "  ";
    lines[0] += gap + padded(column.name, widest, first);
    for (std::size_t i = 0; i < column.cells.size(); ++i) {
      const bool best = std::ranges::find(column.best, i) != column.best.end();
      lines[i + 1] += gap + padded(column.cells[i] + (best ? "*" : " "), widest, first);
    }
    used += widest + gap.size();
  }
  std::string text;
  for (std::string& line : lines) {
    line.resize(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string bars_text(const Comparison& c, std::size_t width) {
  std::size_t names = 0;
  double longest = 0;
  for (const Contestant& one : c.contestants) {
    const TimeShares& t = one.time;
    names = std::max(names, length(one.label));
    longest = std::max(longest, t.compute + t.overlap + t.wait + t.update + t.rest);
  }
  if (longest <= 0) return "";
  std::string text =
      "How a worker's time was spent: # computing, + computing while sending, . waiting, "
      "u updating, - the rest\n";
  const double room = static_cast<double>(std::max<std::size_t>(width, names + 32) - names - 12);
  for (const Contestant& one : c.contestants) {
    const TimeShares& t = one.time;
    std::string bar;
    double sum = 0;
    const auto add = [&](char mark, double seconds) {
      sum += seconds;
      bar.resize(std::max(bar.size(), static_cast<std::size_t>(sum / longest * room + 0.5)), mark);
    };
    add('#', t.compute);
    add('+', t.overlap);
    add('.', t.wait);
    add('u', t.update);
    add('-', t.rest);
    text += fmt::format("{}  {} {}\n", padded(one.label, names, true), bar, time_text(sum));
  }
  return text;
}

}  // namespace

std::string text_of(const Comparison& c, std::size_t width) {
  std::string text = c.title + "\n\n";
  for (const std::string& sentence : verdict_of(c)) text += sentence + "\n";
  for (const std::string& note : c.notes) text += "Note: " + note + "\n";
  text += "\n" + table_text(c, width);
  if (c.contestants.size() > 1) text += "* the best\n";
  return text + "\n" + bars_text(c, width);
}

}  // namespace shoal
