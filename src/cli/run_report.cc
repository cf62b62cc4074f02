#include "cli/run_report.h"

#include <fmt/core.h>

#include <fstream>

#include "base/error.h"
#include "report/page.h"
#include "report/words.h"
#include "runtime/live/mapped_file.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

void write_text(const fs::path& path, const std::string& text) {
  std::error_code ignored;  // an error shows when the file is opened
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), ignored);
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush())
    throw DataError(
        fmt::format("cannot write {}; is there space, and write permission?", path.string()));
}

}  // namespace

FinishedRun read_run(const fs::path& folder) {
  if (!fs::is_directory(folder))
    throw DataError(fmt::format("{}: there is no such folder; name the folders of finished runs",
                                folder.string()));
  std::vector<FileView> views;
  const auto text = [&](const char* name) -> std::string_view {
    if (!fs::exists(folder / name) || fs::file_size(folder / name) == 0) return {};
    views.push_back(map_file((folder / name).string()));
    const auto bytes = views.back().bytes;
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  };
  RunTexts texts;
  texts.config = text("config.toml");
  texts.summary = text("summary.json");
  texts.metrics = text("metrics.jsonl");
  texts.trace = text("trace.json");
  return parse_run(folder.string(), texts);
}

void write_report(const Comparison& comparison, const fs::path& page) {
  const fs::path table = page.parent_path() / "table.csv";
  write_text(page, page_of(comparison));
  write_text(table, csv_of(comparison));
  fmt::print("\nreport  {}, which opens in any browser\ntable   {}\n", page.string(),
             table.string());
}

}  // namespace shoal
