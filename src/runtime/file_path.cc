#include "runtime/file_path.h"

#include <algorithm>

#include "base/error.h"

namespace shoal {
namespace {

[[noreturn]] void refuse(std::string_view path, std::string_view why) {
  throw DataError(fmt::format(
      "path \"{}\" {}; paths are relative to the job's folder, like checkpoint/step-1", path, why));
}

}  // namespace

std::vector<std::string> path_names(std::string_view path) {
  std::vector<std::string> names;
  if (path.empty() || path == ".") return names;
  if (const std::size_t zero = path.find('\0'); zero != std::string_view::npos)
    refuse(path.substr(0, zero), "has a zero byte after that");
  if (path.front() == '/') refuse(path, "is absolute");
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view name = path.substr(at, end - at);
    if (name.empty()) refuse(path, "has an empty name in it");
    if (name == "." || name == "..") refuse(path, "has \".\" or \"..\" in it");
    names.emplace_back(name);
    at = end + 1;
  }
  return names;
}

}  // namespace shoal
