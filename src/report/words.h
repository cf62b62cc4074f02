// Words and numbers of a comparison, the same in text and page.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "report/comparison.h"

namespace shoal {

// The winners; a sentence for each criterion.
std::vector<std::string> verdict_of(const Comparison& comparison);

std::string percent_text(double share);  // 91.2 %
std::string plain_text(double value);    // 0.0312, 12,345
std::string bytes_text(double bytes);    // 12.3 MB
std::string time_text(double seconds);   // 12.3 s
std::string score_text(const Comparison& comparison, double value);
std::string score_name(const Comparison& comparison);  // test accuracy, test loss

// A row is a contestant; a column that no contestant has is omitted.
struct TableColumn {
  std::string name;
  std::string help;
  std::vector<std::string> cells;
  std::vector<std::size_t> best;  // contestants, by mean; empty if the column is no competition
};
std::vector<TableColumn> table_of(const Comparison& comparison);

// table.csv: all numbers unrounded, a row for each contestant, for other programs.
std::string csv_of(const Comparison& comparison);

// For a terminal of this width.
std::string text_of(const Comparison& comparison, std::size_t width);

}  // namespace shoal
