#include "data/dataset.h"

#include <fmt/core.h>

#include "base/nearest.h"
#include "data/formats.h"
#include "data/parse.h"

namespace shoal {

std::string dataset_forms() {
  std::string forms;
  for (const DatasetFormat& format : kDatasetFormats)
    forms += fmt::format("{}{}{}", forms.empty() ? "" : ", ", format.name, format.rest);
  return forms;
}

Dataset open_dataset(const std::string& spec, const DatasetOptions& options,
                     const FileOpener& opener) {
  if (options.length == 0) throw ConfigError("a window of text has at least one character, not 0");
  if (!(options.test_fraction >= 0) || options.test_fraction > 0.9)
    throw ConfigError(
        fmt::format("a test fraction of {} is not in 0 .. 0.9", options.test_fraction));
  // A file system would take such a path for a shorter one.
  if (spec.find('\0') != std::string::npos)
    throw ConfigError(fmt::format("dataset {} has a zero byte in it", shown(spec)));
  const std::size_t colon = spec.find(':');
  const std::string_view name = std::string_view(spec).substr(0, colon);
  std::vector<std::string> known;
  for (const DatasetFormat& format : kDatasetFormats) {
    known.emplace_back(format.name);
    if (format.name != name) continue;
    const std::string_view rest =
        colon == std::string::npos ? "" : std::string_view(spec).substr(colon + 1);
    if (rest.empty() != format.rest.empty())
      throw ConfigError(
          fmt::format("dataset {} is written {}{}, not {}", name, name, format.rest, shown(spec)));
    if (options.augment && !format.augments)
      throw ConfigError(
          fmt::format("--augment: rows of {} are neither images nor text; omit it", name));
    return format.open(rest, options, opener);
  }
  throw ConfigError(fmt::format("{} is not a dataset. {}", shown(name), suggest(name, known)));
}

}  // namespace shoal
