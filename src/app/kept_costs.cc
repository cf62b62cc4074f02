#include "app/kept_costs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <span>

#include "base/error.h"
#include "base/hash.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

// The file's first line is the key, its second the text; anything else is no such file.
std::optional<std::string> read_text(const fs::path& file, const std::string& key) {
  std::ifstream stream(file);
  std::string first, text;
  const bool whole = std::getline(stream, first) && std::getline(stream, text) && !stream.eof();
  if (!whole || first != key) return std::nullopt;
  return text;
}

// A reader sees the old file or the new one.
void replace_file(const fs::path& file, const std::string& content) {
  std::error_code ignored;  // It shows when the file is opened.
  fs::create_directories(file.parent_path(), ignored);
  fs::path draft = file;
  draft += fmt::format(".{}", getpid());
  std::ofstream stream(draft, std::ios::binary);
  stream << content;
  stream.close();
  std::error_code error;
  if (stream) fs::rename(draft, file, error);
  if (stream && !error) return;
  fs::remove(draft, ignored);
  throw DataError(
      fmt::format("cannot write {}; is there space, and may it be written?", file.string()));
}

}  // namespace

std::string KeptCosts::find(const std::string& key, bool anew,
                            const std::function<std::string()>& measure) {
  if (folder_.empty()) return measure();
  const std::uint64_t name = hash_of(std::as_bytes(std::span<const char>(key)));
  const fs::path file = folder_ / fmt::format("{:016x}.txt", name);
  if (!anew)
    if (std::optional<std::string> kept = read_text(file, key)) return *kept;
  const std::string text = measure();
  replace_file(file, key + '\n' + text + '\n');
  return text;
}

}  // namespace shoal
